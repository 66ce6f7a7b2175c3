"""The figures that tc and the relay receive, and the veth pairs that either needs."""

from typing import Any

import pytest

from lab import wan
from lab.plan import Line, Port
from lab.topology import Link


def line(**figures: Any) -> Line:
    return Line(3, Link("c1", "core", **figures), Port("c1", "wan0", "10.254.0.6"), Port("core", "wan2", "10.254.0.7"))


@pytest.mark.parametrize(
    ("figures", "says"),
    [
        ({"delay_ms": 5}, "delay 5ms"),
        ({"delay_ms": 5, "jitter_ms": 0.5}, "delay 5ms 0.5ms"),
        ({"delay_ms": 5, "loss_percent": 0.1, "rate_mbit": 2.5}, "delay 5ms loss 0.1% rate 2.5mbit"),
        ({"rate_mbit": 100}, "rate 100mbit"),
    ],
)
def test_netem(figures: dict[str, float], says: str) -> None:
    assert " ".join(wan.netem(line(**figures), "wan0")) == f"tc qdisc replace dev wan0 root netem limit 10000 {says}"


@pytest.mark.parametrize(
    ("figures", "says"),
    [
        ({"delay_ms": 5}, "5000,0,0,0"),
        ({"delay_ms": 5, "jitter_ms": 0.5, "loss_percent": 0.01, "rate_mbit": 2.5}, "5000,500,100,2500"),
    ],
)
def test_relay(figures: dict[str, float], says: str) -> None:
    assert wan.relay(line(**figures)) == f"c1-core,w3a,w3b,{says},10000"


def test_only_shaped_links_go_through_the_relay() -> None:
    direct = (("weft-c1", "wan0"), ("weft-core", "wan2"))
    assert wan.cables([line()], wan.Emulator.RELAY) == [direct]
    assert wan.cables([line(delay_ms=1)], wan.Emulator.NETEM) == [direct]
    assert wan.cables([line(delay_ms=1)], wan.Emulator.RELAY) == [
        (("weft-c1", "wan0"), ("weft-wan", "w3a")),
        (("weft-core", "wan2"), ("weft-wan", "w3b")),
    ]
