"""A foreign PE's layer-2 information (RFC 4761, section 3.2.4): two VPLS cloudlets with real agents and gobgpd. One
gobgpd announces values that no agent of Weft's would."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import grpc.aio
import pytest
import pytest_asyncio
from api import gobgp_pb2 as gobgp
from api.gobgp_pb2_grpc import GoBgpServiceStub

from agents.bgp.gobgp.messages import path
from agents.kernel.vpls import Announcement, announcements
from controller.wire.reports import Report
from tests.integration import agent_region as region_of
from tests.integration.agent_region import Region
from tests.integration.stub_controller import StubController, desired

reason = region_of.usable()
pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(reason is not None, reason=reason or ""),
    pytest.mark.asyncio(loop_scope="module"),
]


@pytest_asyncio.fixture(loop_scope="module")
async def region(tmp_path: Path) -> AsyncIterator[tuple[Region, StubController]]:
    """Yield two cloudlets in a pool, and the stub of their controller."""
    made, stub = Region(tmp_path, 2), StubController()
    try:
        await stub.start()
        await asyncio.to_thread(made.rules, 1, {"e1", "e2"})
        for n in (1, 2):
            await stub.set(desired(n, {3 - n}, 1))
            made.start_agent(n)
        await stub.wait("c1", lambda report: bool(report.endpoints and report.endpoints[0].tunnels), 20)
        yield made, stub
    finally:
        await stub.stop()
        made.close()


def found(report: Report) -> dict[str, tuple[str, str]]:
    return {one.kind: (one.expected, one.found) for one in report.findings if one.kind != "setting"}


async def announce(api: str, announcement: Announcement) -> None:
    """Replace the speaker's route of the same block."""
    route = path(announcement)
    async with grpc.aio.insecure_channel(api) as channel:
        await GoBgpServiceStub(channel).AddPath(gobgp.AddPathRequest(table_type=gobgp.TABLE_TYPE_GLOBAL, path=route))


@pytest.mark.smoke
async def test_a_control_word_and_another_mtu_are_found_and_gone_when_they_go(
    region: tuple[Region, StubController],
) -> None:
    cloudlets, stub = region
    cloudlets.stop("agent2")
    seen = len(stub.reports["c1"])
    (own,) = announcements(desired(2, {1}, 1).endpoints[0], [])
    await announce(cloudlets.gobgp_api(2), replace(own, mtu=1400, control_word=True))
    both = {"mtu-mismatch": ("1450", "1400"), "control-word": ("none", "one")}
    await stub.wait("c1", lambda report: found(report) == both, 20, skip=seen)
    seen = len(stub.reports["c1"])
    cloudlets.start_agent(2)
    _, report = await stub.wait("c1", lambda report: found(report) == {}, 20, skip=seen)
    assert [tunnel.remote for tunnel in report.endpoints[0].tunnels] == ["e2"]
