"""Announce permits of VMs: the permits that route servers receive while VMs come, move and go."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from controller.core import announce_permits
from controller.core.announce_permits import permit
from controller.core.changed_names import ChangedNames, document, of_document
from controller.core.intent import Cloudlet, CloudletState, Endpoint, Intent
from controller.core.rulesets import rule_set
from controller.db import announce_permits as table
from controller.db import intents
from controller.wire.desired import gateway_mac
from controller.wire.flavours import Flavour
from tests.unit.controller.conftest import Controller, Start
from tests.unit.controller.fake_mover import Mover, breaking, settled
from tests.unit.controller.fake_routeserver import FakeRouteServer
from tests.unit.controller.moving_town import VM, Town, again, end, is_at, is_at_step, town
from tests.unit.controller.test_leases import mac

pytestmark = pytest.mark.slow

MACS = ["02:00:5e:00:00:01", "02:00:5e:00:00:02"]

At = Mapping[str, tuple[bool, list[str]]]
"""By endpoint: whether v1's MACs are permitted there, and the addresses that machines there have kept."""


def region(prefix6: str | None = None) -> Intent:
    """Return an intent of two EVPN cloudlets and one of VPLS."""
    cloudlets = {f"c{n}": Cloudlet(f"c{n}", Flavour.EVPN, f"192.0.2.{n}", CloudletState.ACTIVE) for n in (1, 2, 3)}
    cloudlets["c3"] = replace(cloudlets["c3"], pe=Flavour.VPLS)
    lans = {f"c{n}-lan": Endpoint(f"c{n}-lan", f"c{n}", n, 1, f"10.{n}.0.0/24", f"10.{n}.0.1") for n in (1, 2, 3)}
    lans["c1-lan"] = replace(lans["c1-lan"], prefix6=prefix6)
    return Intent(1, cloudlets, lans)


def told(intent: Intent) -> At:
    found = {}
    for endpoint in rule_set(intent, 65000).endpoints:
        assert endpoint.permits is not None
        own = [m for m in endpoint.permits.macs if m != gateway_mac(endpoint.peer, 1)]
        assert own in ([], MACS)
        found[endpoint.name] = (bool(own), endpoint.permits.hosts)
    return found


def test_macs_are_guarded_and_an_address_is_kept_where_it_is_of_another_lan() -> None:
    intent, kept = region("2001:db8:1::/64"), ("10.1.0.3", "2001:db8:1::3")
    none: tuple[bool, list[str]] = (False, [])

    def at(*endpoints: str) -> Intent:
        return intent.with_permits({"v1": permit(intent, "v1", MACS, endpoints, kept)})

    assert told(at()) == {"c1-lan": none, "c2-lan": none, "c3-lan": none} and at() is intent
    assert told(at("c1-lan")) == {"c1-lan": (True, []), "c2-lan": none, "c3-lan": none}
    assert told(at("c1-lan", "c2-lan")) == {"c1-lan": (True, []), "c2-lan": (True, list(kept)), "c3-lan": none}
    assert told(at("c2-lan")) == {"c1-lan": none, "c2-lan": (True, list(kept)), "c3-lan": none}
    assert at("c3-lan") is intent and at("nowhere") is intent, "VPLS has no MACs in BGP"
    assert told(at("c1-lan", "c2-lan").without_endpoint("c1-lan"))["c2-lan"] == (True, list(kept))
    assert at("c1-lan").without_endpoint("c1-lan").permits == {}


def test_a_release_before_had_no_permits() -> None:
    kept = document(ChangedNames(vcps=frozenset({"blue"}), permits=frozenset({"v1"})))
    assert of_document(kept).permits == {"v1"}
    del kept["berths"]
    assert of_document(kept) == ChangedNames(vcps=frozenset({"blue"}))


class Told:
    """The permits for v1 that a route server has received."""

    def __init__(self, controller: Controller, server: FakeRouteServer) -> None:
        self.controller, self.server = controller, server
        self.macs: list[str] = []

    async def now(self) -> At:
        self.macs = self.macs or (await self.controller.get("/vms/v1"))["macs"]
        found = {}
        for endpoint in self.server.rules.endpoints:
            assert endpoint.permits is not None
            own = set(self.macs) <= set(endpoint.permits.macs)
            if own or endpoint.permits.hosts:
                found[endpoint.name] = (own, endpoint.permits.hosts)
        return found

    async def becomes(self, wanted: At) -> None:
        async def so() -> bool:
            return await self.now() == wanted

        try:
            await settled(so)
        except TimeoutError:
            raise AssertionError(f"{await self.now()}, not {wanted}") from None
        async with self.controller.region.database.read() as session:
            assert await intents.load(session) == replace(
                self.controller.region.intent,
                **{name: getattr(Intent(), name) for name in ("policy", "route_servers", "enrolled_only")},
            )


async def test_there_with_a_kept_address_and_back(controller: Controller, route_server: FakeRouteServer) -> None:
    """The new permit is added before the old one is withdrawn: in between both cloudlets may announce the VM. The VM
    comes back with the address of the LAN there."""
    kept = ["10.1.0.3", "2001:db8:1::3"]
    async with town(controller, pe="evpn", ipv6=True) as town_:
        told, mover = Told(controller, route_server), town_.movers["c1"]
        await told.becomes({"c1-lan": (True, [])})
        version = controller.region.intent.cloudlets["c1"].version
        mover.deaf.add("memory")
        name = await town_.start(keep=True)
        await settled(lambda: is_at_step(controller, name, "memory"))
        await told.becomes({"c1-lan": (True, []), "c2-lan": (True, kept)})
        mover.deaf.clear()
        await mover.say()
        await _nudge(mover)
        assert (await town_.over(name))["state"] == "done"
        await told.becomes({"c2-lan": (True, kept)})
        await settled(lambda: is_at(controller, "c2-lan"))
        assert (await town_.over(await town_.start("c1-lan")))["state"] == "done"
        await told.becomes({"c1-lan": (True, [])})
        assert controller.region.intent.cloudlets["c1"].version == version, "no agent has anything to do with it"
        own = (await controller.get("/audit", who="controller", method="change"))["items"]
        assert [one["after"]["berths"]["v1"]["endpoints"] for one in own if "v1" in one["after"].get("berths", {})]


async def _nudge(mover: Mover) -> None:
    """Make the mover look at its orders again."""
    async with mover.agent.came:
        mover._seen = 0
        mover.agent.came.notify_all()


async def test_a_move_to_another_address(controller: Controller, route_server: FakeRouteServer) -> None:
    async with town(controller, pe="evpn", pool=("c1-lan",)) as town_:
        told = Told(controller, route_server)
        assert (await town_.over(await town_.start()))["state"] == "done"
        await told.becomes({"c2-lan": (True, [])})


async def test_the_old_address_while_it_lingers(controller: Controller, route_server: FakeRouteServer) -> None:
    async with town(controller, pe="evpn") as town_:
        told = Told(controller, route_server)
        town_.movers["c2"].broken = lambda order: (
            {"state": "running"} if order.act == "leave" and order.addresses and order.addresses.linger else None
        )
        name = await town_.start(linger=600)
        await settled(lambda: is_at_step(controller, name, "leave"))
        await told.becomes({"c1-lan": (True, ["10.2.0.3"]), "c2-lan": (True, ["10.1.0.3"])})
        await controller.post(f"/moves/{name}/finish", status=200)
        assert (await town_.over(name))["state"] == "done"
        await told.becomes({"c2-lan": (True, [])})


@pytest.mark.parametrize("act", ["prepare", "activate", "join"])
async def test_what_does_not_come_off_leaves_nothing(
    controller: Controller, route_server: FakeRouteServer, act: str
) -> None:
    async with town(controller, pe="evpn", pool=("c1-lan",)) as town_:
        told = Told(controller, route_server)
        town_.movers["c2"].broken = breaking(act, "no")
        assert (await town_.over(await town_.start()))["state"] == ("done" if act == "join" else "undone")
        await told.becomes({"c2-lan": (True, ["10.1.0.3"])} if act == "join" else {"c1-lan": (True, [])})


@pytest.mark.parametrize("step", ["authorise", "memory", "discard"])
async def test_a_controller_that_dies_in_between(start: Start, route_server: FakeRouteServer, step: str) -> None:
    """The controller dies after the step of the move and before the permits are updated: its successor updates them."""
    async with start(route_server) as first, town(first, pe="evpn") as town_:
        told = Told(first, route_server)
        await told.becomes({"c1-lan": (True, [])})
        first.region.migration.scheduler._permits.settle = _nothing  # type: ignore[method-assign]
        for mover in town_.movers.values():
            mover.deaf.add(step)
        name = await town_.start(keep=True)
        if step != "authorise":
            await settled(lambda: is_at_step(first, name, step))
            assert await told.now() == {"c1-lan": (True, [])}
        credentials = {n: m.agent.headers for n, m in town_.movers.items()}
        there = dict(town_.there)
    async with start(route_server) as second:
        movers = await again(second, credentials, there)
        try:
            assert (await Town(second, movers, there).over(name))["state"] == "done"
            await Told(second, route_server).becomes({"c2-lan": (True, ["10.1.0.3"])})
        finally:
            await end(movers)


async def _nothing() -> bool:
    return False


@pytest.mark.parametrize("away", ["the route server", "a trial"])
async def test_no_move_waits_for_it(controller: Controller, route_server: FakeRouteServer, away: str) -> None:
    """A move waits neither for an absent route server nor for a change on trial, on top of which no other change is
    possible."""
    async with town(controller, pe="evpn") as town_:
        told = Told(controller, route_server)
        await told.becomes({"c1-lan": (True, [])})
        if away == "a trial":
            joined = await controller.post("/vcps/blue/members", {"endpoint": "c3-lan"}, confirm_within=600)
        else:
            route_server.down = True
        assert (await town_.over(await town_.start(keep=True)))["state"] == "done"
        assert await told.now() == {"c1-lan": (True, [])}
        if away == "a trial":
            await controller.post(f"/changes/{joined['generation']}/rollback", status=200)
            controller.region.migration.moves.work.set()
        route_server.down = False
        await told.becomes({"c2-lan": (True, ["10.1.0.3"])})


async def test_vms_that_come_and_go(controller: Controller, route_server: FakeRouteServer) -> None:
    await controller.cloudlet("c1", 1, pe="evpn")
    await controller.post("/devices", {"name": "m1", "mac": mac(1)})
    await controller.post("/vms", VM)
    told = Told(controller, route_server)
    await told.becomes({"c1-lan": (True, [])})
    await controller.delete("/vms/v1", 204)
    await told.becomes({})


async def test_so_many_and_no_more(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announce_permits, "MOST", 1)
    async with town(controller, pe="evpn"):
        await controller.post("/devices", {"name": "m2", "mac": mac(2)})
        more = VM | {"name": "v2", "device": "m2"}
        await controller.refused(409, "/vms", more, "endpoint", "c1-lan has 1 VMs, and an EVPN endpoint can have 1")
        await controller.post("/vms", more | {"endpoint": "c2-lan"})
        await settled(lambda: _permitted(controller, "v2"))
        await controller.refused(409, "/moves", {"vm": "v1", "endpoint": "c2-lan"}, "endpoint", "c2-lan has 1 VMs")


async def _permitted(controller: Controller, vm: str) -> bool:
    return vm in controller.region.intent.permits


async def test_what_is_noted_again_meanwhile_stays_noted(controller: Controller) -> None:
    async with controller.region.database.write() as session:
        await table.note(session, "v1")
        seen = [row.id for row in await table.due(session, 10)]
        await table.note(session, "v1")
        await table.told(session, seen)
        assert [row.vm for row in await table.due(session, 10)] == ["v1"]
