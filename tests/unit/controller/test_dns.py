"""DNS records of leases, read back by a library that knows zone files."""

import dns.zone
import pytest

from controller.core.dns import Form, Held, heading, lines, name
from tests.unit.controller.conftest import Controller
from tests.unit.controller.test_leases import lan, mac


async def exported(controller: Controller, **query: str) -> str:
    answer = await controller.http.get("/api/v1/addresses/dns", params=query)
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain")
    return answer.text


async def test_what_is_leased_has_a_name(controller: Controller) -> None:
    agent = await lan(controller)
    await controller.post("/devices", {"name": "m1", "mac": mac(1), "vm": {"mac": mac(2)}})
    await agent.lease(endpoint="c1-lan", mac=mac(1), hostname="gateway")
    await agent.lease(endpoint="c1-lan", mac=mac(2))
    zone = dns.zone.from_text(await exported(controller, origin="weft.example"), check_origin=False)
    found = {str(owner): [r.address for r in rdataset] for owner, rdataset in zone.iterate_rdatasets("A")}
    assert found == {"m1.c1-lan": ["10.1.0.2"], "m1-vm.c1-lan": ["10.1.0.3"]}
    reverse = await exported(controller, origin="weft.example", form="reverse")
    assert "3.0.1.10.in-addr.arpa. IN PTR m1-vm.c1-lan.weft.example.\n" in reverse
    assert "10.1.0.2\tm1.c1-lan.weft.example\n" in await exported(controller, origin="weft.example", form="hosts")
    assert "m1" not in await exported(controller, endpoint="c9-lan")


@pytest.mark.parametrize("origin", ["", "-x", "a..b", "x\ny", "$INCLUDE", "x; y"])
async def test_an_origin_is_a_domain(controller: Controller, origin: str) -> None:
    answer = await controller.http.get("/api/v1/addresses/dns", params={"origin": origin})
    assert answer.status_code == 422


def test_both_families_in_both_directions() -> None:
    held = Held("m1", "vm", "c1-lan", ("10.1.0.3", "2001:db8::3"))
    assert list(lines(held, Form.ZONE, "x"))[1] == "m1-vm.c1-lan IN AAAA 2001:db8::3\n"
    assert list(lines(held, Form.REVERSE, "x"))[1].startswith("3.0.0.0.0.0.0.0.")
    assert heading(Form.ZONE, "x").endswith("$ORIGIN x.\n$TTL 60\n")


def test_a_label_is_never_too_long() -> None:
    assert max(map(len, name(Held("m" * 63, "vm", "e" * 63, ())).split("."))) == 63
