"""`weft` repeats the requests that the controller asks it to repeat, as often as that is useful, and no others."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import httpx
import pytest
from tenacity import nap

from controller.cli.retries import ATTEMPTS, LONGEST, sent

Slept = list[float]


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> Slept:
    """Record the seconds of each wait, without waiting."""
    seconds: Slept = []
    monkeypatch.setattr(nap, "time", SimpleNamespace(sleep=seconds.append))
    return seconds


def answering(method: str, *answers: tuple[int, str | None]) -> tuple[Callable[[], httpx.Response], Iterator[object]]:
    """Return a function that sends a request and gets these answers (status and Retry-After) in turn, and the iterator
    over the remaining answers."""
    request, left = httpx.Request(method, "http://controller/api/v1/events"), iter(answers)

    def send() -> httpx.Response:
        status, after = next(left)
        return httpx.Response(status, headers={"Retry-After": after} if after is not None else {}, request=request)

    return send, left


@pytest.mark.parametrize(
    ("method", "status"), [("GET", 429), ("GET", 503), ("POST", 429), ("DELETE", 429), ("PATCH", 429)]
)
def test_a_request_is_sent_again_after_the_time_asked_for(method: str, status: int, slept: Slept) -> None:
    send, left = answering(method, (status, "3"), (status, "1"), (200, None))
    assert sent(send).status_code == 200 and slept == [3, 1] and next(left, None) is None


def test_patience_has_an_end(slept: Slept) -> None:
    send, left = answering("GET", *[(503, "1")] * (ATTEMPTS + 1))
    assert sent(send).status_code == 503 and len(slept) == ATTEMPTS - 1 and next(left, None) is not None


@pytest.mark.parametrize(
    ("method", "status", "after"),
    [
        ("POST", 503, "1"),  # it may have been done all the same
        ("GET", 503, str(LONGEST + 1)),
        ("GET", 503, None),
        ("GET", 503, "soon"),
        ("GET", 500, "1"),
        ("GET", 409, "1"),
    ],
)
def test_others_are_not_sent_again(method: str, status: int, after: str | None, slept: Slept) -> None:
    send, left = answering(method, (status, after), (200, None))
    assert sent(send).status_code == status and not slept and next(left, None) is not None
