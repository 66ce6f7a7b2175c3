"""`weft … set`: what is sent, and what is printed of interruptions and rehearsals."""

from typing import Any

import pytest

from tests.unit.cli.answers import CHANGE, TRIED
from tests.unit.cli.conftest import Controller, Weft

INTERRUPTED = [
    {"kind": "endpoint", "name": "c1-lan", "what": "interfaces that only eth1 named leave the LAN"},
    {"kind": "cloudlet", "name": "c1", "what": "its BGP sessions\x1b[2J end"},
]


@pytest.mark.parametrize(
    ("line", "path", "body"),
    [
        (
            "endpoint set e --port md* --mtu 1400 --max-routes - --tenant - --prefix6 2001:db8:1::/64 --vni 7",
            "endpoints/e",
            {
                "ports": ["md*"],
                "mtu": 1400,
                "max_routes": None,
                "vni": 7,
                "tenant": None,
                "prefix6": "2001:db8:1::/64",
            },
        ),
        ("endpoint set e --port - --prefix 10.7.0.0/24", "endpoints/e", {"ports": None, "prefix": "10.7.0.0/24"}),
        (
            "cloudlet set c1 --vtep 198.51.100.9 --asn - --ttl-security 2 --no-approval",
            "cloudlets/c1",
            {"asn": None, "ttl_security": 2, "vtep": "198.51.100.9", "approval": False},
        ),
        (
            "device set ana --mac 02:00:5e:00:00:03 --vm-mac - --vm-client-id 01aa",
            "devices/ana",
            {"mac": "02:00:5e:00:00:03", "vm": {"mac": None, "client_id": "01aa"}},
        ),
    ],
)
def test_what_is_sent(controller: Controller, weft: Weft, line: str, path: str, body: dict[str, Any]) -> None:
    controller.answers["PATCH", f"/api/v1/{path}"] = CHANGE
    assert weft(*line.split()).code == 0
    assert controller.body == body and not controller.last.url.params
    assert weft(*line.split(), "-o", "json").json == CHANGE


def test_interruptions_are_printed(controller: Controller, weft: Weft) -> None:
    rehearsed = CHANGE | {"dry_run": True, "in_force": False, "interrupted": INTERRUPTED}
    controller.answers["PATCH", "/api/v1/endpoints/c1-lan"] = rehearsed
    result = weft("endpoint", "set", "c1-lan", "--port", "md*", "--dry-run")
    assert result.code == 0 and dict(controller.last.url.params) == {"dry_run": "true"}
    assert result.out.splitlines()[:3] == [
        "c1-lan is changed: this is what would happen",
        "! endpoint c1-lan: interfaces that only eth1 named leave the LAN",
        "! cloudlet c1: its BGP sessions\\x1b[2J end",
    ]


def test_a_change_on_trial(controller: Controller, weft: Weft) -> None:
    for path, words in (
        ("endpoints/c1-lan", ("endpoint", "set", "c1-lan", "--mtu", "1400")),
        ("cloudlets/c1", ("cloudlet", "set", "c1", "--vtep", "192.0.2.9")),
    ):
        controller.answers["PATCH", f"/api/v1/{path}"] = TRIED
        result = weft(*words, "--confirm-within", "60")
        assert dict(controller.last.url.params) == {"confirm_within": "60"}
        assert "is changed: in force" in result.out and "on trial: rolled back" in result.out


def test_devices_and_vms_are_rehearsed(controller: Controller, weft: Weft) -> None:
    held = {"name": "ana", "interrupted": ["10.1.0.2 at c1-lan stays with the former identity until 2030"]}
    controller.answers["PATCH", "/api/v1/devices/ana"] = held
    result = weft("device", "set", "ana", "--mac", "02:00:5e:00:00:03", "--dry-run")
    assert result.out.splitlines() == [
        "ana would be changed; nothing is",
        "! 10.1.0.2 at c1-lan stays with the former identity until 2030",
    ]
    controller.answers["PATCH", "/api/v1/vms/web"] = {"name": "web"}
    assert weft("vm", "set", "web", "--memory", "1G", "--dry-run").out == "web would be changed; nothing is\n"
    assert dict(controller.last.url.params) == {"dry_run": "true"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("endpoint set c1-lan", "nothing to set: --port"),
        ("endpoint set c1-lan --mtu much", "--mtu 'much': give a whole number, or - for the default"),
        ("endpoint set c1-lan --port - --port eth1", "--port -: it stands for none, and cannot come with others"),
        ("cloudlet set c1", "nothing to set: --label"),
        ("cloudlet set c1 --asn x", "--asn 'x': give a whole number"),
        ("device set ana", "nothing to set: --mac"),
    ],
)
def test_wrong_usage(controller: Controller, weft: Weft, line: str, said: str) -> None:
    result = weft(*line.split())
    assert result.code == 2 and said in result.err and not controller.asked
