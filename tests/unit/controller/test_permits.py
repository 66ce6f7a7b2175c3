"""The announce permits that route servers receive, including a route server that does not know permits."""

from dataclasses import replace

import pytest

from controller.core.intent import Cloudlet, CloudletState, Endpoint, Intent, Vcp
from controller.core.restored import given_back
from controller.core.rulesets import apply, operations, rule_set
from controller.wire.desired import gateway_mac
from controller.wire.flavours import Flavour
from controller.wire.rulesets import Permits, SetEndpoint
from lab.patience import eventually
from tests.unit.controller.conftest import Controller, Start
from tests.unit.controller.fake_routeserver import FakeRouteServer

ASN = 65000


def intent(flavour: Flavour, prefix6: str | None = None) -> Intent:
    cloudlet = Cloudlet("c1", flavour, "10.99.0.1", CloudletState.ACTIVE)
    lan = Endpoint("lan", "c1", 7, 2, "10.1.0.0/24", "10.1.0.1", vni=None if flavour is Flavour.VPLS else 10000)
    lan = replace(lan, prefix6=prefix6)
    return Intent(1, {"c1": cloudlet}, {"lan": lan}, {"blue": Vcp("blue", flavour, members=frozenset({"lan"}))})


def permits(of: Intent) -> Permits:
    (endpoint,) = rule_set(of, ASN).endpoints
    assert endpoint.permits is not None
    return endpoint.permits


def test_a_vpls_endpoint_has_its_ve_id_and_its_labels() -> None:
    assert permits(intent(Flavour.VPLS)) == Permits(
        next_hops=["10.99.0.1"], prefixes=["10.1.0.0/24"], ve_id=7, labels=(2 << 12, 3 << 12)
    )


def test_an_evpn_endpoint_has_its_lan_and_its_gateway() -> None:
    assert permits(intent(Flavour.EVPN, "2001:db8:1::/64")) == Permits(
        next_hops=["10.99.0.1"],
        prefixes=["10.1.0.0/24", "2001:db8:1::/64"],
        macs=[gateway_mac("c1", 2)],
        max_macs=512,
    )


def test_another_vtep_is_another_next_hop_and_nothing_else_is_said_again() -> None:
    before = intent(Flavour.VPLS)
    moved = replace(before.cloudlets["c1"], vtep="10.99.0.9")
    ops = operations(before, before.with_cloudlet(moved), ASN)
    assert [op.op for op in ops] == ["set-peer", "set-endpoint"]
    assert apply(rule_set(before, ASN), ops, 1) == rule_set(before.with_cloudlet(moved), ASN)
    labelled = replace(before.cloudlets["c1"], labels={"site": "roof"})
    assert operations(before, before.with_cloudlet(labelled), ASN) == []


def test_permits_give_nobody_anything_back() -> None:
    rules = rule_set(intent(Flavour.VPLS), ASN)
    without = rules.model_copy(update={"endpoints": [e.model_copy(update={"permits": None}) for e in rules.endpoints]})
    assert given_back(without, rules) == []


async def found(controller: Controller) -> None:
    for n in (1, 2):
        await controller.post("/cloudlets", {"name": f"c{n}", "pe": "vpls", "vtep": f"10.99.0.{n}"})
        await controller.post(f"/cloudlets/c{n}/approve", status=200)
        await controller.post("/endpoints", {"name": f"c{n}-lan", "cloudlet": f"c{n}", "prefix": f"10.{n}.0.0/24"})


@pytest.mark.parametrize("knows", [True, False])
async def test_a_route_server_is_told_of_permits_if_it_knows_what_they_are(
    start: Start, route_server: FakeRouteServer, knows: bool
) -> None:
    route_server.permits = knows
    async with start(route_server) as controller:
        await found(controller)
        await controller.post("/vcps", {"name": "blue"})
        answer = await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
        assert not answer.get("unreachable")
        assert [e.permits is not None for e in route_server.rules.endpoints] == [knows, knows]
        changes = [entry for entry in route_server.log if entry.startswith("change")]
        assert changes and route_server.log.count(changes[-1]) == 1, "changes go as changes"


async def test_a_route_server_that_has_come_to_know_them_is_told(start: Start, route_server: FakeRouteServer) -> None:
    route_server.permits = False
    async with start(route_server) as controller:
        await found(controller)
        route_server.down = route_server.permits = True
        await eventually(lambda: not controller.region.route_servers.syncs[0].reachable, seconds=15)
        route_server.restart()
        route_server.down = False
        await eventually(lambda: all(e.permits for e in route_server.rules.endpoints), seconds=15)


def test_an_operation_says_what_a_pe_may_say() -> None:
    ops = operations(Intent(), intent(Flavour.VPLS), ASN)
    (op,) = (op for op in ops if isinstance(op, SetEndpoint))
    assert op.endpoint.permits == permits(intent(Flavour.VPLS))
