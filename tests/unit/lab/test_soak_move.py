"""The summary of all moves of a soak."""

from dataclasses import replace

import pytest

from lab.soak_move import LEARNING, Turn, predicted, summary
from lab.work import Side, StreamVerdict

GOOD = Turn("move-1", "done", "", 4.5, 100.0, 300.0, "b")
SIDE = Side(7, 0, None, 0.3, 1.0, 7)
ALIVE = StreamVerdict(None, True, 2, 0.0, 60.0, SIDE, SIDE)


def turns(*beyond: float) -> list[Turn]:
    """Return moves in alternating directions, with the application's stall beyond the pause in ms."""
    return [replace(GOOD, stall_ms=100 + ms, serving="ba"[number % 2]) for number, ms in enumerate(beyond)]


def test_all_is_well() -> None:
    found = summary(turns(100, 200, 319), ALIVE, [])
    assert (found["well"], found["bar"], found["bar_beyond_pause_ms_p99"]) == (True, "kept to", 320)
    assert found["beyond_pause_ms_p50_p99"] == [200, 319]


def test_a_stall_at_the_bar_is_too_long() -> None:
    found = summary(turns(100, 200, 320), ALIVE, [])
    assert not found["well"] and found["bar"] == "missed: 320 ms beyond the pause at p99, not below 320"


def test_one_of_a_hundred_may_be_longer() -> None:
    assert summary(turns(*[10] * 99, 900), ALIVE, [])["well"]
    assert not summary(turns(*[10] * 98, 900, 900), ALIVE, [])["well"]


@pytest.mark.parametrize(
    ("moves", "verdict", "wrong"),
    [
        (turns(1, 2), ALIVE, ["after move-1: c1 has 2 taps"]),
        (turns(1, 2)[::-1], ALIVE, []),
        (turns(1, 2), replace(ALIVE, mptcp=False), []),
        (turns(1, 2), replace(ALIVE, device=replace(SIDE, received=6)), []),
        ([replace(GOOD, state="undone")], ALIVE, []),
        ([replace(GOOD, reason="old address kept")], ALIVE, []),
    ],
)
def test_what_is_not_well(moves: list[Turn], verdict: StreamVerdict, wrong: list[str]) -> None:
    assert not summary(moves, verdict, wrong)["well"]


def test_how_far_off_predictions_were() -> None:
    early = [{"at": f"2026-01-01T00:00:0{n}Z", "seconds": 1.0, "model_seconds": 9.0, "predicted_seconds": 9.0}
             for n in range(LEARNING)]  # fmt: skip
    late = [{"at": f"2026-01-02T00:00:0{n}Z", "seconds": 2.0, "model_seconds": 3.0, "predicted_seconds": off}
            for n, off in enumerate((2.2, 1.6, None))]  # fmt: skip
    found = predicted([*late, *early])
    assert found == {"model_off_p50_p90": [0.5, 0.5], "predicted_off_p50_p90": [0.1, 0.2]}
    assert predicted(early) == {"model_off_p50_p90": [], "predicted_off_p50_p90": []}
