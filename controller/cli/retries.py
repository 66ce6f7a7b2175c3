"""Requests that the controller asks to send again later. The only file that imports tenacity, and only when needed.

A request that reads is sent again after 429 and 503, any other after 429 alone, which is answered before anything is
done."""

from collections.abc import Callable
from itertools import chain, repeat

import httpx

ATTEMPTS = 4
LONGEST = 10
"""Seconds. A controller that asks for more patience is told of."""


def seconds(response: httpx.Response) -> int | None:
    """How long the controller asks to wait before the request is sent again; None if it is not to be."""
    later = (429, 503) if response.request.method == "GET" else (429,)
    asked = response.headers.get("Retry-After", "")
    if response.status_code not in later or not asked.isdecimal() or int(asked) > LONGEST:
        return None
    return int(asked)


def sent(send: Callable[[], httpx.Response]) -> httpx.Response:
    """The answer to a request, after at most ATTEMPTS. Raises httpx.HTTPError."""
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
