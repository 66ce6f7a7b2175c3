"""DNS records of leases and static hosts, read back by a library that knows zone files."""

import dns.zone
import pytest

from controller.core.dns import Form, Host, NamedHost, heading, records
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
    await controller.cloudlet("c9", 9)
    assert "m1" not in await exported(controller, endpoint="c9-lan")


@pytest.mark.parametrize("origin", ["", "-x", "a..b", "x\ny", "$INCLUDE", "x; y"])
async def test_an_origin_is_a_domain(controller: Controller, origin: str) -> None:
    answer = await controller.http.get("/api/v1/addresses/dns", params={"origin": origin})
    assert answer.status_code == 422


async def test_a_static_host_has_a_name_in_both_families(controller: Controller) -> None:
    await lan(controller, prefix6="2001:db8:1::/64")
    hosts = [{"name": "nas", "address": "10.1.0.7"}, {"name": "tv", "address": "10.1.0.9"}]
    await controller.post("/addresses/c1-lan/statics", {"hosts": hosts}, 200)
    text = await exported(controller, origin="weft.example")
    zone = dns.zone.from_text(text, check_origin=False)
    found = {str(o): [r.address for kind in ("A", "AAAA") for r in zone.find_rdataset(o, kind)] for o in zone}
    assert found == {"nas.c1-lan": ["10.1.0.7", "2001:db8:1::7"], "tv.c1-lan": ["10.1.0.9", "2001:db8:1::9"]}
    reverse = await exported(controller, origin="weft.example", form="reverse", endpoint="c1-lan")
    assert "7.0.1.10.in-addr.arpa. IN PTR nas.c1-lan.weft.example.\n" in reverse
    assert "10.1.0.9\ttv.c1-lan.weft.example\n" in await exported(controller, origin="weft.example", form="hosts")


async def test_two_hosts_do_not_share_a_name(controller: Controller) -> None:
    agent = await lan(controller)
    await controller.post("/devices", {"name": "m1", "mac": mac(1), "vm": {"mac": mac(2)}})
    await controller.post("/devices", {"name": "m1-vm", "mac": mac(3)})
    await controller.post("/devices", {"name": "nas", "mac": mac(4)})
    await controller.post("/addresses/c1-lan/statics", {"hosts": [{"name": "nas", "address": "10.1.0.20"}]}, 200)
    of = {n: (await agent.lease(endpoint="c1-lan", mac=mac(n))).json()["address"] for n in range(1, 5)}
    text = await exported(controller, origin="weft.example")
    zone = dns.zone.from_text(text, check_origin=False)
    found = {str(owner): [r.address for r in rdataset] for owner, rdataset in zone.iterate_rdatasets("A")}
    assert found == {"nas.c1-lan": ["10.1.0.20"], "m1.c1-lan": [of[1]], "m1-vm.c1-lan": [of[3]]}
    assert f"; {of[2]} (VM of m1) is left out: m1-vm.c1-lan is device m1-vm\n" in text
    assert f"; {of[4]} (device nas) is left out: nas.c1-lan is static host nas\n" in text
    assert f"\n# {of[2]} (VM of m1) is left out" in await exported(controller, form="hosts")


def test_both_families_in_both_directions() -> None:
    held = NamedHost("m1", Host.VM, "c1-lan", ("10.1.0.3", "2001:db8::3"))
    assert list(records([held], Form.ZONE, "x"))[1] == "m1-vm.c1-lan IN AAAA 2001:db8::3\n"
    assert list(records([held], Form.REVERSE, "x"))[1].startswith("3.0.0.0.0.0.0.0.")
    assert heading(Form.ZONE, "x").endswith("$ORIGIN x.\n$TTL 60\n")


def test_a_label_is_never_too_long_and_who_would_share_a_cut_one_is_left_out() -> None:
    long, other = (NamedHost("m" * 62 + last, Host.VM, "e" * 63, (f"10.1.0.{n}",)) for n, last in ((3, "a"), (5, "b")))
    assert max(map(len, long.name.split("."))) == 63 and long.name == other.name
    assert list(records([other, long], Form.ZONE, "x")) == [
        f"{long.name} IN A 10.1.0.3\n",
        f"; 10.1.0.5 (VM of {other.of}) is left out: {other.name} is VM of {long.of}\n",
    ]
