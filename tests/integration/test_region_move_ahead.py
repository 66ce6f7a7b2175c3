"""A VM is copied ahead of its move over thin lines (`weft move prepare`), and then moves. All parts are real."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import work
from lab.guests.build import build
from lab.paths import GUESTS, ROOT
from lab.region import Region
from lab.rest import Rest
from tests.integration.test_region_move import DOWN, UP, ended

pytestmark = pytest.mark.lab

WRITTEN = {"memory": ("start", "mib=16", "rate=1"), "disk": ("start", "mib=16", "rate=0.1")}


@pytest.fixture
def region() -> Iterator[Region]:
    build(GUESTS)
    found = Region.load(ROOT / "lab/topologies/soak-thin.yaml")
    with found.occupied():
        for phase in (found.build, found.enrol, found.apply_policy, found.lease, found.boot):
            phase(print)
        found.execute("m1", ["ip", "mptcp", "limits", "set", "subflows", "8", "add_addr_accepted", "8"], check=True)
        yield found


def test_a_vm_that_was_copied_ahead_moves_cheaply(region: Region, tmp_path: Path) -> None:
    """The VM serves its device meanwhile, stays where it is after the copy, and loses no byte by the move."""
    with Rest(timeout=60) as rest:
        address, at = rest.get("/vms/v1")["address"], region.namespace("m1")
        for what, words in WRITTEN.items():
            work.ask(at, address, (what, *words))
        stream = work.Stream(at, address, tmp_path / "stream", down=DOWN, up=UP)
        try:
            copied = ended(rest, rest.post("/moves/ahead", {"vm": "v1", "endpoint": "c2-lan"})["name"])
            assert (copied["state"], copied["reason"], copied["ahead"]) == ("done", "", True), copied
            vm = rest.get("/vms/v1")
            assert (vm["endpoint"], vm["address"], vm["condition"], vm["move"]) == ("c1-lan", address, "running", None)
            made = rest.post("/moves", {"vm": "v1", "endpoint": "c2-lan", "linger": 0})["name"]
            moved = ended(rest, made)
            assert (moved["state"], moved["reason"], moved["ahead"]) == ("done", "", False), moved
            now = rest.get("/vms/v1")["address"]
            for what in WRITTEN:
                found = work.ask(at, now, (what, "verdict"))
                assert found["wrong"] == 0 and found["written"] > 0, found
        finally:
            verdict = stream.verdict()
    assert verdict.intact and verdict.mptcp, verdict
    for medium, share in (("memory", 1 / 3), ("disk", 1 / 5)):
        first, second = (move["figures"][medium] for move in (copied, moved))
        assert (first["pages"]["kept"], second["pages"]["kept"]) == (False, True), medium
        assert second["wire"] < share * first["wire"], medium
