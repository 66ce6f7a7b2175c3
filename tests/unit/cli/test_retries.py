"""`weft` repeats the requests that the controller asks it to repeat, and changes whose answer was lost, as often as
that is useful, and no others."""

from collections.abc import Callable, Iterator

import httpx
import pytest

from controller.cli.retries import ATTEMPTS, LONGEST, LOST, Delivery
from tests.unit.cli.conftest import Slept

Answer = tuple[int, str | None] | type[httpx.TransportError]


def delivery(*answers: Answer, reads: bool) -> tuple[Delivery, Iterator[Answer], list[str]]:
    """Return a request that gets these answers (status and Retry-After) and errors in turn, the iterator over the
    remaining ones, and the messages to the user."""
    left, told = iter(answers), list[str]()

    def send() -> httpx.Response:
        answer = next(left)
        if isinstance(answer, type):
            raise answer("gone")
        status, after = answer
        return httpx.Response(status, headers={"Retry-After": after} if after is not None else {})

    return Delivery(send, reads=reads, tell=told.append), left, told


@pytest.mark.parametrize("reads", [True, False])
@pytest.mark.parametrize("status", [429, 503])
def test_a_request_is_sent_again_after_the_time_asked_for(reads: bool, status: int, slept: Slept) -> None:
    asked, left, told = delivery((status, "3"), (status, "1"), (200, None), reads=reads)
    assert asked.answer().status_code == 200 and slept == [3, 1] and next(left, None) is None
    assert len(told) == (0 if reads else 1) and all(f"({status})" in one and "in 3 s" in one for one in told)


@pytest.mark.parametrize("error", LOST)
def test_a_change_whose_answer_was_lost_is_sent_again(error: type[httpx.TransportError], slept: Slept) -> None:
    asked, left, told = delivery(error, httpx.ConnectError, (201, None), reads=False)
    assert asked.answer().status_code == 201 and slept == [1, 2] and next(left, None) is None
    assert asked.doubtful and asked.attempts == 3 and len(told) == 1 and "in 1 s" in told[0]


def test_a_change_under_way_is_awaited(slept: Slept) -> None:
    asked, _, _ = delivery(httpx.ReadTimeout, (409, "1"), (201, None), reads=False)
    assert asked.answer().status_code == 201 and slept == [1, 1]


def test_patience_has_an_end(slept: Slept) -> None:
    asked, left, _ = delivery(*[(503, "1")] * (ATTEMPTS + 1), reads=True)
    assert asked.answer().status_code == 503 and len(slept) == ATTEMPTS - 1 and next(left, None) is not None
    slept.clear()
    asked, left, _ = delivery(*[httpx.ReadError] * (ATTEMPTS + 1), reads=False)
    with pytest.raises(httpx.ReadError):
        asked.answer()
    assert slept == [1, 2, 4] and next(left, None) is not None


def test_a_controller_that_takes_minutes_is_not_asked_four_times(slept: Slept, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 61))
    monkeypatch.setattr("tenacity.time.monotonic", lambda: next(clock))
    asked, _, _ = delivery(*[httpx.ReadTimeout] * ATTEMPTS, reads=False)
    with pytest.raises(httpx.ReadTimeout):
        asked.answer()
    assert asked.attempts == 2


@pytest.mark.parametrize(
    ("answer", "reads"),
    [
        ((503, str(LONGEST + 1)), True),
        ((503, str(LONGEST + 1)), False),
        ((503, None), True),
        ((503, "soon"), False),
        ((500, "1"), True),
        ((500, "1"), False),
        ((409, "1"), True),
        ((409, "1"), False),  # only a repeated request can be under way
        (httpx.ReadError, True),
        (httpx.ReadTimeout, True),
        (httpx.ConnectError, False),  # nothing was sent, and perhaps there is no controller
        (httpx.ConnectTimeout, False),
        (httpx.UnsupportedProtocol, False),
    ],
)
def test_others_are_not_sent_again(answer: Answer, reads: bool, slept: Slept) -> None:
    asked, left, told = delivery(answer, (200, None), reads=reads)
    call: Callable[[], httpx.Response] = asked.answer
    if isinstance(answer, type):
        with pytest.raises(answer):
            call()
    else:
        assert call().status_code == answer[0]
    assert not slept and not told and next(left, None) is not None
