"""Twenty cloudlets on one machine: they come up, agree, and each part stays small."""

import time

import pytest

from lab.paths import ROOT
from lab.region import Region
from lab.rest import Rest

pytestmark = pytest.mark.lab

MIB = 2**20


def test_twenty_cloudlets_agree_and_stay_small() -> None:
    region = Region.load(ROOT / "lab/topologies/twenty.yaml")
    assert len(region.topology.cloudlets) == 20
    with region.occupied(), Rest(timeout=60) as rest:
        for phase in (region.build, region.enrol, region.apply_policy, region.lease):
            phase(print)
        deadline = time.monotonic() + 30
        while differences := rest.get("/doctor")["differences"]:
            assert time.monotonic() < deadline, differences
            time.sleep(0.5)
        resident = {name: process.resident_bytes() / MIB for name, process in region.processes.items()}
    assert max(size for name, size in resident.items() if name.endswith("-agent")) < 100
    assert resident["controller"] < 200
    assert max(resident[name] for name in region.topology.route_servers) < 50
