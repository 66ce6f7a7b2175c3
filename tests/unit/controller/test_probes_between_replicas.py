"""Probes of agents that are connected to another replica: requests and results go there and back as messages."""

import asyncio
from collections.abc import Iterable

import pytest

from controller.agents.registry import Agents, Elsewhere
from controller.core.refusals import Refused
from controller.replication.probes import Probes
from controller.replication.replicas import ROOM, Hear, Replicas
from controller.wire.probes import ProbeReport, ProbeRequest, ProbeResult, ProbeTarget
from lab.patience import eventually

LONG = "x" * 63


class Line(Replicas):
    """A replica whose messages reach the other one at once."""

    def __init__(self, name: str) -> None:
        self.name, self.hear = name, dict[str, Hear]()
        self.other: Line | None = None
        self.said: list[str] = []

    def tell(self, kind: str, words: Iterable[str] = ()) -> None:
        found = list(words)
        assert all(len(word) < ROOM - 100 for word in found), "a word fits into a message"
        self.said += found
        for word in found:
            assert self.other is not None
            self.other.hear[kind](self.name, [word])


def pair() -> tuple[tuple[Agents, Probes, Line], tuple[Agents, Probes, Line]]:
    lines = Line("north"), Line("south")
    lines[0].other, lines[1].other = lines[1], lines[0]
    north, south = ((agents := Agents(), Probes(agents, line), line) for line in lines)
    return north, south


def request(count: int) -> ProbeRequest:
    targets = [
        ProbeTarget(endpoint=LONG, remote=f"{n:063}", address=f"2001:db8::{n:x}", mtu=1450) for n in range(count)
    ]
    return ProbeRequest(cloudlet="c1", number=2**62, targets=targets)


def results(of: ProbeRequest) -> list[ProbeResult]:
    return [ProbeResult(endpoint=t.endpoint, remote=t.remote, address=t.address, problem="€" * 300) for t in of.targets]


async def test_requests_and_results_cross() -> None:
    (agents, probes, _), (others, other, _) = pair()
    agents.learn("c1", Elsewhere("south", 1))
    asked = request(50)
    with others.attend("c1"):
        running = asyncio.create_task(probes.run(asked.number, [asked], 30.0))
        await eventually(lambda: others.of("c1").probes)
        assert others.of("c1").probes == asked
        with pytest.raises(Refused, match="under way"):
            await other.run(1, [asked], 30.0)
        report = ProbeReport(cloudlet="c1", number=asked.number, results=results(asked))
        other.take(report)
        found = await running
    assert len(found) == 50 and list(found.values()) == report.results


async def test_of_an_agent_that_has_left_that_replica_nothing_comes() -> None:
    (agents, probes, _), (others, _, _) = pair()
    agents.learn("c1", Elsewhere("south", 1))
    assert await probes.run(1, [request(3)], 0.01) == {}
    assert others.of("c1").probes is None


async def test_messages_that_cannot_be_read_are_dropped() -> None:
    (_, _, line), (others, _, _) = pair()
    assert line.other is not None
    line.other.hear["probes-asked"]("north", ["1:1:bm90IGpzb24="])
    line.other.hear["probes-told"]("north", ["%%%"])
    assert others.of("c1").probes is None
