"""The cost of agents' reports does not grow with the size of pools: n sightings in a pool of n LANs."""

from controller.core.intent import Intent
from controller.core.objects import Cloudlet, CloudletState, Endpoint, Vcp
from controller.core.sighting_evidence import Witnesses
from controller.wire.flavours import Flavour
from controller.wire.sightings import Sighting
from tests.unit.growth.pace import growth


def _reported(size: int) -> tuple[Intent, list[Sighting]]:
    """Return a pool with this number of LANs, and the same number of packets from the other LANs' addresses, with
    unknown MACs."""
    names = [f"c{number}" for number in range(size)]
    nets = [f"10.{number >> 8}.{number & 255}" for number in range(size)]
    endpoints = {
        name: Endpoint(name, name, number + 1, 1, f"{net}.0/24", f"{net}.1")
        for number, (name, net) in enumerate(zip(names, nets, strict=True))
    }
    cloudlets = {name: Cloudlet(name, Flavour.EVPN, f"192.0.2.{1}", state=CloudletState.ACTIVE) for name in names}
    pool = Vcp(name="blue", members=frozenset(names))
    seen = [Sighting(endpoint="c0", address=f"{net}.2", how="packet", mac="02:00:5e:00:00:01") for net in nets]
    return Intent(cloudlets=cloudlets, endpoints=endpoints, vcps={"blue": pool}), seen


def _heard(given: tuple[Intent, list[Sighting]]) -> None:
    intent, seen = given
    witnesses = Witnesses(intent)
    for sighting in seen:
        assert witnesses.home(sighting) is not None
        witnesses.judge(sighting, None)


def test_sightings_in_a_large_pool() -> None:
    assert (grown := growth(_heard, _reported, 1024)) is None, grown
