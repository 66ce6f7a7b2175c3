"""The agents' checks of their hosts, and of the traffic that passes: real agents, gobgpd, kernels and nft."""

import asyncio
import re
import socket
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from controller.wire.desired import Desired
from controller.wire.findings import Finding
from controller.wire.reports import Report
from tests.integration import agent_region as region_of
from tests.integration import stub_controller
from tests.integration.agent_region import Region, inside, run
from tests.integration.fence_frames import ethernet, udp4
from tests.integration.stub_controller import StubController

reason = region_of.usable()
pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(reason is not None, reason=reason or ""),
    pytest.mark.asyncio(loop_scope="module"),
]
ALL = {1, 2}


def desired(n: int, remotes: set[int], version: int, **changes: Any) -> Desired:
    return stub_controller.desired(n, remotes, version, ipv6=True, **changes)


class Pair:
    """Two cloudlets that share a pool."""

    def __init__(self, region: Region, stub: StubController) -> None:
        self.region, self.stub = region, stub

    async def now(self, n: int, good: Callable[[Report], bool], seconds: float = 40.0) -> Report:
        """Return the first good report that arrives from now on."""
        return (await self.stub.wait(f"c{n}", good, seconds, skip=len(self.stub.reports[f"c{n}"])))[1]

    async def when(self, n: int, good: Callable[[Report], bool], seconds: float = 40.0) -> Report:
        return (await self.stub.wait(f"c{n}", good, seconds))[1]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pair(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pair]:
    region = Region(tmp_path_factory.mktemp("region"), 2)
    stub = StubController()
    try:
        await stub.start()
        made = Pair(region, stub)
        await asyncio.to_thread(region.rules, 1, {"e1", "e2"})
        for n in ALL:
            await stub.set(desired(n, ALL - {n}, 1))
            region.start_agent(n)
        for n in ALL:
            await made.when(n, lambda report: bool(report.endpoints and report.endpoints[0].tunnels))
        yield made
    finally:
        await stub.stop()
        region.close()


def of(report: Report, kind: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.kind == kind]


def tables(n: int) -> set[str]:
    return set(run("nft", "list", "tables", namespace=f"pe{n}").splitlines())


async def until(what: str, look: Callable[[], bool], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not await asyncio.to_thread(look):
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        await asyncio.sleep(0.01)


def gap(report: Report) -> int | None:
    """Return the milliseconds for which the rules were gone, once they are back."""
    return next((finding.milliseconds for finding in of(report, "rules-gone")), None)


@pytest.mark.smoke
async def test_rules_that_somebody_flushes_are_back_within_a_second_and_told(pair: Pair) -> None:
    """Without notifications the next pass would restore the rules, up to half a minute later. The agent's own figure
    for each gap counts, from the kernel's notification to the last rule, since the test's own checks are slow commands.
    The shortest gap decides, as other work may delay the agent during one."""
    await pair.when(1, lambda report: not of(report, "rules-gone"))
    before = tables(1)
    assert {"table bridge weft", "table inet weft", "table bridge weft-sightings"} <= before
    gaps: list[int] = []
    told: list[list[Finding]] = []
    for _ in range(3):
        run("nft", "flush", "ruleset", namespace="pe1")
        await until("fences, guards and sightings", lambda: tables(1) == before)
        report = await pair.when(1, lambda report: gap(report) is not None and of(report, "rules-gone") not in told)
        told.append(of(report, "rules-gone"))
        (finding,) = told[-1]
        assert finding.text.startswith("nft took rules out of nftables (weft")
        assert finding.found == f"gone for {finding.milliseconds} ms" and finding.found in finding.text
        gaps.append(finding.milliseconds or 0)
        await asyncio.sleep(1)  # so that the next gap's message has another time
    assert 0 < min(gaps) < 1000, gaps


async def test_rules_of_others_do_not_disturb(pair: Pair) -> None:
    """A host's own firewall changes all the time: the fences and their counters stay."""

    def table() -> str:
        return run("nft", "-a", "list", "table", "bridge", "weft", namespace="pe1")

    before = table().splitlines()[0]  # includes the table's handle, which changes with each replacement
    run("nft", "add counter bridge weft scar", namespace="pe1")
    await until("a change of ours is undone", lambda: "scar" not in table())
    assert table().splitlines()[0] != before
    await asyncio.sleep(1)  # wait for the end of that pass: a pass that runs during a change loads the rules again
    replaced = table().splitlines()[0]
    for command in ("add table inet others", "add chain inet others some", "add rule inet others some counter"):
        run("nft", command, namespace="pe1")
    await asyncio.sleep(1)
    await pair.stub.set(desired(1, {2}, 2, lease_seconds=3601))
    await pair.when(1, lambda report: report.version == 2)  # proves that there was a pass
    assert table().splitlines()[0] == replaced
    run("nft", "delete table inet others", namespace="pe1")


async def test_a_chain_of_somebody_else_that_drops_is_named(pair: Pair) -> None:
    """The chain is like a container host's: devices no longer reach each other, although all tables agree."""
    assert pings() == 3
    for command in (
        "add table ip filter",
        "add chain ip filter FORWARD { type filter hook forward priority 0 ; policy drop ; }",
        "add chain ip filter DOCKER-USER",
        "add rule ip filter FORWARD jump DOCKER-USER",
    ):
        run("nft", command, namespace="pe1")
    try:
        report = await pair.when(1, lambda report: bool(of(report, "foreign-rules")))
        (finding,) = of(report, "foreign-rules")
        assert finding.subject == "ip filter FORWARD" and finding.found == "policy drop"
        assert pings() == 0
        run("nft", "add rule ip filter DOCKER-USER iifname lan1 accept", namespace="pe1")
        await pair.when(1, lambda report: not of(report, "foreign-rules"))
        assert pings() == 3
    finally:
        run("nft", "delete table ip filter", namespace="pe1")


async def test_a_setting_that_drops_is_named(pair: Pair) -> None:
    run("sysctl", "-qw", "net.ipv4.conf.lan1.arp_ignore=2", namespace="pe1")
    run("nft", "add table inet others", namespace="pe1")  # this wakes the agent
    report = await pair.when(1, lambda report: bool(of(report, "setting")))
    assert of(report, "setting")[0].subject == "net.ipv4.conf.lan1.arp_ignore"
    run("sysctl", "-qw", "net.ipv4.conf.lan1.arp_ignore=0", namespace="pe1")
    run("nft", "delete table inet others", namespace="pe1")
    await pair.when(1, lambda report: not of(report, "setting"))


def verdicts(report: Report) -> dict[tuple[str, str], str]:
    return {(p.remote, p.family): p.verdict for state in report.endpoints for p in state.passages}


WELL = {("e2", "ipv4"): "passes", ("e2", "ipv6"): "passes"}


async def test_probes_tell_when_nothing_passes_though_the_kernels_agree(pair: Pair) -> None:
    """The underlay drops VXLAN, while tunnels and routes are as desired at both ends."""
    for n in ALL:
        await pair.when(n, lambda report: len(verdicts(report)) == 2 and "silent" not in verdicts(report).values(), 90)
    run("nft", "add table inet others", namespace="pe2")
    run("nft", "add chain inet others raw { type filter hook input priority -10 ; }", namespace="pe2")
    run("nft", "add rule inet others raw udp dport 4789 drop", namespace="pe2")
    try:
        report = await pair.when(1, lambda report: set(verdicts(report).values()) == {"silent"}, 150)
        assert report.endpoints[0].tunnels and not report.endpoints[0].problems
    finally:
        run("nft", "delete table inet others", namespace="pe2")
    await pair.now(1, lambda report: verdicts(report) == WELL)


async def test_probes_tell_when_one_family_does_not_pass(pair: Pair) -> None:
    """A firewall at the other end passes IPv4 alone."""
    run("nft", "add table bridge others", namespace="pe2")
    run("nft", "add chain bridge others first { type filter hook prerouting priority -400 ; }", namespace="pe2")
    run("nft", 'add rule bridge others first iifname "pw*" ether type ip6 drop', namespace="pe2")
    try:
        await pair.now(1, lambda report: verdicts(report) == WELL | {("e2", "ipv6"): "silent"}, 150)
    finally:
        run("nft", "delete table bridge others", namespace="pe2")
    await pair.now(1, lambda report: verdicts(report) == WELL)


def pings() -> int:
    words = ("ping", "-n", "-c", "3", "-i", "0.05", "-W", "1", "10.2.0.2")
    received = re.search(r"(\d+) received", run(*words, namespace="md1", check=False))
    return int(received[1]) if received else 0


async def test_another_mtu_at_the_other_end_is_named(pair: Pair) -> None:
    await pair.stub.set(desired(2, {1}, 2, mtu=1400))
    report = await pair.when(1, lambda report: bool(of(report, "mtu-mismatch")))
    (finding,) = of(report, "mtu-mismatch")
    assert (finding.subject, finding.expected, finding.found) == ("e1 to e2", "1450", "1400")
    await pair.stub.set(desired(2, {1}, 3))
    await pair.when(1, lambda report: not of(report, "mtu-mismatch"))


def packets() -> socket.socket:
    return socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)


@pytest.mark.smoke
async def test_a_mac_at_two_places_is_named_at_both_and_one_that_has_moved_is_not(pair: Pair) -> None:
    devices = [inside(f"md{n}", lambda fresh: fresh.bind(("eth0", 0)), packets) for n in (1, 2)]
    try:
        for move in range(6):
            for n, device in enumerate(devices, 1):
                device.send(ethernet(0x0800, udp4("two", f"10.{n}.0.2", f"10.{n}.0.255")))
                await asyncio.sleep(0.1)
            if move == 0:
                assert not of(pair.stub.reports["c1"][-1][1], "mac-duplicate")
        for n, other in ((1, "e2"), (2, "e1")):
            report = await pair.when(n, lambda report: bool(of(report, "mac-duplicate")))
            (finding,) = of(report, "mac-duplicate")
            assert (finding.subject, finding.endpoint) == ("02:00:5e:00:00:aa", f"e{n}")
            assert finding.found == f"port md0 and {other}"
    finally:
        for device in devices:
            device.close()
