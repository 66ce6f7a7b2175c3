"""Corrections by history: right on average, slow to change, not affected by one bad day."""

from math import log
from random import Random
from statistics import median

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from controller.core.profiles import FARTHEST, Correction, Past, correction, error, typical

LINK, OTHER = ("c1", "c2"), ("c2", "c3")


def history(random: Random, moves: int, image: float, link: float, noise: float, odd: float = 0.0) -> list[Past]:
    """Return moves of two images over two links that take `image` and `link` times the model's prediction, with
    log-normal noise; the share `odd` of them goes completely wrong."""
    found = []
    for _ in range(moves):
        which, over = random.choice(["debian", "bare"]), random.choice([LINK, OTHER])
        model = random.uniform(1, 60)
        true = model * (image if which == "debian" else 1.0) * (link if over == LINK else 1.0)
        took = true * random.lognormvariate(0, noise) * (50 if random.random() < odd else 1)
        found.append(Past(which, over, took, model))
    return found


@given(st.integers(0, 1000), st.floats(0.5, 2.5), st.floats(0.5, 2.5), st.sampled_from([0.0, 0.1]))
def test_corrected_predictions_are_unbiased(seed: int, image: float, link: float, odd: float) -> None:
    """With a long history, half of the moves take longer than predicted and half less: the factor is the true one, even
    if some moves went wrong."""
    past = history(Random(seed), 400, image, link, 0.1, odd)
    for which, over, true in (("debian", LINK, image * link), ("bare", OTHER, 1.0), ("bare", LINK, link)):
        found = correction(past, which, over)
        assert found.factor == pytest.approx(true, rel=0.15)
        off = [log(p.seconds / (p.model_seconds * found.factor)) for p in past if (p.image, p.link) == (which, over)]
        assert abs(median(off)) < 0.15


@given(st.floats(0.2, 5), st.integers(0, 40))
def test_few_moves_say_little(factor: float, moves: int) -> None:
    past = [Past("debian", LINK, 10 * factor, 10.0)] * moves
    found = correction(past, "debian", LINK)
    assert min(1, factor) - 1e-9 <= found.factor <= max(1, factor) + 1e-9
    assert (found.image_moves, found.link_moves) == (moves, moves)
    more = correction(past + past[:1], "debian", LINK)
    assert abs(log(more.factor / factor)) <= abs(log(found.factor / factor)) + 1e-9


def test_nothing_is_known_of_others() -> None:
    past = [Past("debian", LINK, 40, 10.0)] * 20
    assert correction(past, "bare", OTHER) == Correction()
    assert correction([], "debian", LINK) == Correction()
    assert correction(past, "bare", LINK).factor < correction(past, "debian", OTHER).factor


@given(st.lists(st.builds(Past, st.just("debian"), st.just(LINK), st.floats(0, 1e9), st.floats(0, 1e9))))
@example([Past("debian", LINK, 1.0, 5e-324)])
@example([Past("debian", LINK, 5e-324, 1e9)])
def test_no_history_leads_astray(past: list[Past]) -> None:
    assert 1 / FARTHEST * 0.999 <= correction(past, "debian", LINK).factor <= FARTHEST * 1.001


def test_errors_of_the_past() -> None:
    assert error([Past("i", LINK, 10, 10)]) is None
    found = error([Past("i", LINK, 10, 10, 10 + n) for n in range(10)])
    assert found is not None and (found.moves, found.p90) == (10, 0.8) and found.median == pytest.approx(0.45)


def test_typical() -> None:
    assert typical([None, 3.0, 1.0, None, 90.0]) == 3.0 and typical([None]) is None
