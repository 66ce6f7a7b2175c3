"""Errors about a value are readable, with an example or a unit; the API accepts no impossible value."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from controller.api.forms import FORMS
from controller.core.macs import mac_of
from controller.server.app import create_app
from controller.settings import Settings
from controller.wire.sizes import Size, short
from tests.unit.controller.conftest import Controller

MAC = "02:00:5e:00:00:01"
NOBODYS = {
    "01:00:5e:00:00:01": "multicast",
    "33:33:00:00:00:01": "multicast",
    "ff:ff:ff:ff:ff:ff": "broadcast",
    "00:00:00:00:00:00": "zero",
    "printer": "not a MAC address, such as",
}
VM = {"name": "web", "device": "m1", "endpoint": "c1-lan", "driver": "qemu", "image": "debian", "memory": 1 << 29}


def _patterns(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        yield from (part["pattern"],) if isinstance(part.get("pattern"), str) else ()
        yield from part.get("patternProperties", ())
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _patterns(inner)


def test_every_form_of_the_api_has_a_sentence_with_a_fitting_example() -> None:
    described = set(_patterns(create_app(Settings()).openapi()))
    assert len(described) > 10
    assert described - FORMS.keys() == set()
    assert FORMS.keys() - described == set(), "nothing has this form"
    for pattern, (form, example) in FORMS.items():
        assert re.fullmatch(pattern, example) and form and not re.search(r"[\\^$\[\]]", form), pattern


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/devices", {"name": "m2", "mac": None}, "mac"),
        ("/devices", {"name": "m2", "mac": MAC, "vm": {"mac": None}}, "vm.mac"),
        ("/vms", VM | {"macs": [MAC, None]}, "macs.1"),
        ("/addresses/c1-lan/statics", {"hosts": [{"name": "nas", "address": "10.1.0.7", "mac": None}]}, "hosts.0.mac"),
    ],
)
async def test_no_body_takes_a_mac_that_no_interface_has(
    controller: Controller, path: str, body: dict[str, Any], field: str
) -> None:
    await controller.cloudlet("c1", 1)
    for mac, why in NOBODYS.items():
        await controller.refused(422, path, _with(body, mac), field, why)


def _with(body: Any, mac: str) -> Any:
    if isinstance(body, dict):
        return {key: _with(value, mac) for key, value in body.items()}
    if isinstance(body, list):
        return [_with(value, mac) for value in body]
    return mac if body is None else body


def test_every_mac_that_the_api_takes_is_of_the_one_type() -> None:
    """The test covers operators' requests and not agents' reports: an unusual MAC from a client is no mistake of an
    operator."""
    schemas = create_app(Settings()).openapi()["components"]["schemas"]
    one = {"maxLength": 40, "type": "string"}
    for name, taker in (("NewDevice", "mac"), ("NewStatic", "mac"), ("NewVm", "macs")):
        found = schemas[name]["properties"][taker]["anyOf"][0]
        found = found.get("items", found)
        assert found | one == found and "vendors" in found["description"], name


async def test_a_mac_is_kept_in_one_form(controller: Controller) -> None:
    made = await controller.post("/devices", {"name": "m1", "mac": "0200.5E00.0001"})
    assert made["mac"] == MAC == mac_of("02-00-5E-00-00-01")
    same = {"name": "m2", "mac": MAC, "vm": {"mac": MAC.upper()}}
    await controller.refused(422, "/devices", same, "body", "the device and its VM cannot be known by the same mac")


@pytest.mark.parametrize(
    ("change", "field", "reason"),
    [
        ({"vcpus": 256}, "vcpus", "255"),
        ({"vcpus": 0}, "vcpus", "1"),
        ({"memory": 1 << 20}, "memory", "1M is not a size from 16M to 32T"),
        ({"disk": {"base": "debian", "bytes": 512}}, "disk.bytes", "512 B is not a size from 1M to 1024T"),
        ({"disk": {"base": "debian", "bytes": (1 << 20) + 1}}, "disk.bytes", "sectors"),
        ({"name": "Web"}, "name", "lower-case letters, digits and hyphens in between, 63 at most, as in c1-lan"),
    ],
)
async def test_what_cannot_be_is_refused_in_words(
    controller: Controller, change: dict[str, Any], field: str, reason: str
) -> None:
    answer = await controller.refused(422, "/vms", VM | change, field, reason)
    assert "^" not in answer.text and "Value error" not in answer.text


def test_sizes_are_short() -> None:
    assert [short(n) for n in (1 << 29, 3 << 29, 1 << 30, 1 << 10, 1000)] == ["512M", "1536M", "1G", "1K", "1000 B"]
    assert Size(1, 10, step=2).check(4) == 4
