"""Retries of requests that the controller asks to send again later. The only file that imports tenacity, and only when
needed.

A reading request is sent again after 429 and 503, any other only after 429, which is answered before any work
begins."""

from collections.abc import Callable
from itertools import chain, repeat

import httpx

ATTEMPTS = 4
LONGEST = 10
"""Maximum seconds of a wait. If the controller asks for a longer one, the user is told."""


def seconds(response: httpx.Response) -> int | None:
    """Return the seconds to wait before the request is sent again; None if it must not be."""
    later = (429, 503) if response.request.method == "GET" else (429,)
    asked = response.headers.get("Retry-After", "")
    if response.status_code not in later or not asked.isdecimal() or int(asked) > LONGEST:
        return None
    return int(asked)


def sent(send: Callable[[], httpx.Response]) -> httpx.Response:
    """Return the answer to a request, after at most ATTEMPTS. Raises httpx.HTTPError."""
    first = send()
    if seconds(first) is None:
        return first
    from tenacity import Retrying, retry_if_result, stop_after_attempt

    answers = chain([first], (send() for _ in repeat(None)))
    retrying = Retrying(
        retry=retry_if_result(lambda answer: seconds(answer) is not None),
        wait=lambda state: float(seconds(state.outcome.result()) or 0) if state.outcome else 0.0,
        stop=stop_after_attempt(ATTEMPTS),
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else first,
    )
    answer: httpx.Response = retrying(next, answers)
    return answer
