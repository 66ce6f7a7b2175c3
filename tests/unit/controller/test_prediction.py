"""The model of a move: compared with measurements, and properties that hold for all numbers."""

from dataclasses import replace
from math import inf, nan
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from controller.core.prediction import MOST_ROUNDS, WINDOW, Forecast, Load, Path, forecast

MB = 1e6
loads = st.builds(
    Load,
    memory=st.floats(0, 1e11),
    dirty_rate=st.floats(0, 1e9),
    disk=st.just(0.0) | st.floats(0, 1e11),
    ratio=st.floats(0.01, 1.2),
    downtime_ms=st.floats(1, 5000),
    auto_converge=st.booleans(),
)
ways = st.builds(Path, bandwidth=st.floats(1e5, 1e11), rtt_ms=st.floats(0, 2000))
factors = st.floats(1, 100)


def seconds(found: Forecast) -> float:
    return inf if found.seconds is None else found.seconds


@pytest.mark.parametrize(
    ("load", "mbits", "measured"),
    [
        (Load(120 * MB, 0.2 * MB), [60], 16.3),
        (Load(120 * MB, 0.2 * MB), [60, 60], 8.4),
        (Load(120 * MB, 0.2 * MB), [350], 2.8),
        (Load(120 * MB, 0.2 * MB, ratio=0.4), [60], 6.3),
        (Load(220 * MB, 10 * MB), [350], 8.4),
        (Load(220 * MB, 30 * MB), [350], 16.0),
        (Load(220 * MB, 60 * MB), [350], 43.0),
    ],
)
def test_moves_that_were_measured(load: Load, mbits: list[float], measured: float) -> None:
    """The moves are QEMU 10's between two hosts without delay: a guest with 120 MB in use, some with another 100 MB
    that is rewritten; one is throttled, one compressed. The model is corrected later, but must not be far off."""
    found = forecast(load, tuple(Path(rate * 1e6, 0.5) for rate in mbits))
    assert found.seconds == pytest.approx(measured, rel=0.35)
    assert (found.throttle > 0) is (load.dirty_rate > 43 * MB)


def test_one_that_never_ends_says_so() -> None:
    found = forecast(Load(220 * MB, 60 * MB, auto_converge=False), (Path(350e6, 20),))
    assert (found.converges, found.seconds, found.paused_ms, found.wire) == (False, None, None, None)
    assert found.rtt_ms == pytest.approx(95.9, rel=0.01)


def test_a_driver_that_pauses_in_any_case_ends_every_copy() -> None:
    """Also one of memory that is written at the line's rate, or faster: rounds get no shorter then."""
    way = (Path(80e6, 0.0),)
    for rate, rounds in ((0.0, 1), (1 * MB, 2), (9 * MB, 1), (20 * MB, 1)):
        found = forecast(Load(40 * MB, rate, most_rounds=8, downtime_ms=100, idle=2.0), way)
        assert found.converges and found.throttle == 0 and found.rounds == rounds
    assert found.seconds == pytest.approx(2.0 + 40 / 10 + 40 / 10) and found.paused_ms == pytest.approx(4000)
    slow = forecast(Load(40 * MB, 6 * MB, most_rounds=3, downtime_ms=100), way)
    assert slow.rounds == 3 and slow.paused_ms == pytest.approx(4000 * 0.6**3)


def test_the_window_bounds_long_links() -> None:
    """Teka, "Performance analysis and TCP": above some round trip the window divided by it limits the rate, not the
    link."""
    near, far = (forecast(Load(263 * MB, 0), (Path(350e6, rtt),)) for rtt in (20.0, 150.0))
    assert (near.window_bound, far.window_bound) == (False, True)
    assert near.rate == 350e6 / 8 and far.rate == pytest.approx(WINDOW / 0.15)
    assert far.rtt_ms == 150 and near.rtt_ms > 20


def test_a_full_link_adds_its_buffer() -> None:
    """Teka, figure 17: the delay that a slow link adds decreases with the round trip that it has anyway."""
    slow = [forecast(Load(263 * MB, 0), (Path(60e6, rtt),), buffer_ms=600).rtt_ms - rtt for rtt in (20.0, 100.0, 700.0)]
    assert slow == [pytest.approx(539.24, abs=0.1), pytest.approx(459.24, abs=0.1), 0]
    assert forecast(Load(263 * MB, 0), (Path(60e6, 20),)).rtt_ms == 120


@given(loads, ways, factors, st.sampled_from(["memory", "dirty_rate", "disk", "ratio"]))
def test_more_to_move_is_never_quicker(load: Load, way: Path, factor: float, what: str) -> None:
    change: dict[str, Any] = {what: getattr(load, what) * factor}
    less, more = forecast(load, (way,)), forecast(replace(load, **change), (way,))
    assert seconds(less) <= seconds(more)
    assert less.converges or not more.converges


@given(loads, ways, factors)
def test_a_faster_link_is_never_slower(load: Load, way: Path, factor: float) -> None:
    slow, fast = (forecast(load, (one,)) for one in (way, replace(way, bandwidth=way.bandwidth * factor)))
    assert seconds(fast) <= seconds(slow) and fast.rtt_ms <= slow.rtt_ms


@given(loads, ways, factors)
def test_a_longer_link_is_never_quicker(load: Load, way: Path, factor: float) -> None:
    near, far = (forecast(load, (one,)) for one in (way, replace(way, rtt_ms=way.rtt_ms * factor)))
    assert seconds(near) <= seconds(far) and near.rtt_ms <= far.rtt_ms


@given(loads, ways, ways)
def test_one_more_path_is_never_slower(load: Load, way: Path, other: Path) -> None:
    assert seconds(forecast(load, (way, other))) <= seconds(forecast(load, (way,)))


@given(loads, ways, st.floats(0, 5000))
def test_what_a_forecast_is_made_of(load: Load, way: Path, buffer_ms: float) -> None:
    found = forecast(load, (way,), buffer_ms)
    assert way.rtt_ms <= found.rtt_ms <= way.rtt_ms + buffer_ms and found.rate > 0
    assert found.converges == (found.seconds is not None) == (found.wire is not None) == (found.paused_ms is not None)
    if found.seconds is not None and found.wire is not None and found.paused_ms is not None:
        assert 0 <= found.paused_ms <= (load.downtime_ms + way.rtt_ms) * (1 + 1e-9)
        assert found.paused_ms / 1000 <= found.seconds * (1 + 1e-9)
        assert found.wire >= load.disk + load.memory * load.ratio * (1 - 1e-9)
        assert found.seconds >= found.wire / found.rate * (1 - 1e-9)


@given(loads, ways)
def test_converges_exactly_when_it_should(load: Load, way: Path) -> None:
    """The remainder after a round tends to the fixed point of v -> D * (v * ratio / rate + trip). The copy ends if the
    whole memory fits into the pause, or if that fixed point is below the amount that fits."""
    load = replace(load, auto_converge=False)
    found, trip = forecast(load, (way,)), way.rtt_ms / 1000
    fits = load.downtime_ms / 1000 * found.rate / load.ratio
    share = load.dirty_rate * load.ratio / found.rate
    if load.memory <= fits * (1 - 1e-9):
        assert found.converges and found.rounds == 0
        return
    assume(abs(share - 1) > 0.1 and load.memory > fits * (1 + 1e-9))
    point = load.dirty_rate * trip / (1 - share) if share < 1 else inf
    assume(abs(min(point, load.memory) - fits) > 0.01 * fits)
    assert found.converges == (point < fits)
    assert found.rounds <= MOST_ROUNDS


@given(loads, ways)
def test_slowing_the_vm_down_never_makes_it_worse(load: Load, way: Path) -> None:
    freely, slowed = (forecast(replace(load, auto_converge=may), (way,)) for may in (False, True))
    assert seconds(slowed) <= seconds(freely) and freely.throttle == 0


@pytest.mark.parametrize("what", ["memory", "dirty_rate", "disk", "ratio", "downtime_ms"])
@pytest.mark.parametrize("value", [-1.0, nan, inf])
def test_numbers_that_are_none(what: str, value: float) -> None:
    change: dict[str, Any] = {what: value}
    with pytest.raises(ValueError, match=what):
        replace(Load(1, 1), **change)
    for paths in ((), (Path(0, 1),), (Path(nan, 1),), (Path(1, -1),)):
        with pytest.raises(ValueError, match="a path"):
            forecast(Load(1, 1), paths)
