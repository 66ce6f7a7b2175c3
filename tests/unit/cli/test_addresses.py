"""`weft address`."""

from pathlib import Path

import httpx
import pytest

from tests.unit.cli.conftest import Controller, Weft, problem

LAN = {
    "endpoint": "c1-lan",
    "prefix": "10.1.0.0/28",
    "capacity": 6,
    "excluded": 2,
    "assigned": 3,
    "leased": 3,
    "available": 1,
    "per_day": 1.0,
    "full_at": "2999-01-01T00:00:00+00:00",
    "forecast": "growing by 1.0 pairs a day",
    "peaks": [{"day": "2026-03-01", "leased": 3}],
}


def test_how_full_lans_are(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/addresses"] = {"items": [LAN], "next": None}
    shown = weft("address", "list")
    assert shown.code == 0 and "75 %" in shown.out and "growing by 1.0 pairs a day" in shown.out
    controller.answers["GET", "/api/v1/addresses/c1-lan"] = LAN
    assert "2026-03-01 3" in weft("address", "show", "c1-lan").out


def test_records_come_as_they_are(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/addresses/dns"] = httpx.Response(200, text="m1.c1-lan IN A 10.1.0.2\n")
    assert weft("address", "dns", "--origin", "x", "--endpoint", "c1-lan").out == "m1.c1-lan IN A 10.1.0.2\n"
    assert dict(controller.last.url.params) == {"origin": "x", "form": "zone", "endpoint": "c1-lan"}


def test_a_refusal_has_its_words(controller: Controller, weft: Weft) -> None:
    result = weft("address", "show", "c9-lan")
    assert result.code == 3 and "nothing at" in result.err


CSV = "Address, Name, MAC\n10.1.0.7, nas, 0200.5e00.0007\n\n10.1.0.9,tv,\n"


def test_hosts_are_read_from_a_file(controller: Controller, weft: Weft, tmp_path: Path) -> None:
    (tmp_path / "hosts.csv").write_text(CSV)
    controller.answers["POST", "/api/v1/addresses/c1-lan/statics"] = {"added": 1}
    result = weft("address", "import", "c1-lan", str(tmp_path / "hosts.csv"))
    assert result.out == "1 hosts of c1-lan were taken over, 1 were known\n"
    assert controller.body == {
        "hosts": [
            {"address": "10.1.0.7", "name": "nas", "mac": "0200.5e00.0007"},
            {"address": "10.1.0.9", "name": "tv"},
        ]
    }


def test_a_refused_host_is_shown_where_it_is(controller: Controller, weft: Weft, tmp_path: Path) -> None:
    (tmp_path / "hosts.csv").write_text(CSV)
    error = {"field": "hosts.1.address", "message": "10.1.0.9 is leased to m1"}
    refusal = problem(409, "Conflict", "1 hosts cannot be taken over; none was", error)
    controller.answers["POST", "/api/v1/addresses/c1-lan/statics"] = refusal
    result = weft("address", "import", "c1-lan", str(tmp_path / "hosts.csv"))
    assert result.code == 3
    assert result.err == f"weft: {tmp_path}/hosts.csv:4: 10.1.0.9 is leased to m1\nnothing was taken over\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "hosts.csv:1: the first line names the columns: address, name, mac; here it is -"),
        ("10.1.0.7,nas\n", "hosts.csv:1: the first line names the columns"),
        ("address,name\n10.1.0.7\n", "hosts.csv:2: 2 values are wanted: address, name"),
        ("address,name\n10.1.0.7,nas,x\n", "hosts.csv:2: 2 values are wanted: address, name"),
        ("address,name\n", "hosts.csv: no hosts"),
    ],
)
def test_a_file_of_another_form(text: str, said: str, weft: Weft, controller: Controller, tmp_path: Path) -> None:
    (tmp_path / "hosts.csv").write_text(text)
    result = weft("address", "import", "c1-lan", str(tmp_path / "hosts.csv"))
    assert result.code == 1 and said in result.err and not controller.asked


def test_reservations(controller: Controller, weft: Weft) -> None:
    kept = {
        "id": 3,
        "endpoint": "c2-lan",
        "device": "ana",
        "md": "10.2.0.2",
        "vm": "10.2.0.3",
        "held_until": "2999-01-01",
    }
    controller.answers["POST", "/api/v1/reservations"] = kept
    assert "10.2.0.2 and 10.2.0.3 are kept for ana" in weft("reservation", "add", "c2-lan", "ana").out
    controller.answers["GET", "/api/v1/reservations"] = {"items": [kept], "next": None}
    till = {"endpoint": "c1-lan", "device": "till", "md": "10.1.0.20", "vm": "10.1.0.21", "has": "10.1.0.4"}
    policy = [{**till, "in_force": False}, {**till, "device": "tv", "md": "10.1.0.30", "in_force": True}]
    controller.answers["GET", "/api/v1/reservations/policy"] = {"items": policy, "next": None}
    lines = weft("reservation", "list").out.splitlines()
    assert ["10.2.0.3" in line for line in lines[1:]] == [True, False, False]
    assert ["has 10.1.0.4 until its leases end" in line for line in lines[1:]] == [False, True, False]


def test_delegations(controller: Controller, weft: Weft) -> None:
    one = {"endpoint": "c1-lan", "epoch": 2, "incarnation": "f00", "blocks": 3, "pairs": 24, "made_at": "2026-01-01"}
    controller.answers["GET", "/api/v1/delegations"] = {"items": [one | {"rests_until": None}], "next": None}
    assert "24" in weft("delegation", "list", "--endpoint", "c1-lan").out
