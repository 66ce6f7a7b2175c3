"""Requests that are sent again: those that the controller cannot answer yet, and changes whose answer was lost. The
only file that imports tenacity, and only when needed.

The controller makes a change with an Idempotency-Key once, however often it comes, and repeats its answer. A change is
therefore sent again with the same key after 429, 503 and a lost answer, a reading request after 429 and 503."""

from collections.abc import Callable
from itertools import chain, repeat

import httpx

ATTEMPTS = 4
LONGEST = 10
"""Maximum seconds of a wait. If the controller asks for a longer one, the user is told."""

PATIENCE = 120.0
"""Seconds after the first attempt, from which on no other attempt begins."""

LOST = (
    httpx.ReadError,
    httpx.ReadTimeout,
    httpx.WriteError,
    httpx.WriteTimeout,
    httpx.CloseError,
    httpx.RemoteProtocolError,
)
"""Ends of a request that the controller may have got."""

ABSENT = (httpx.ConnectError, httpx.ConnectTimeout)
"""Ends of a request that the controller did not get. It may be restarting."""

Outcome = httpx.Response | httpx.HTTPError


class Delivery:
    """One request until its answer. `send` sends it, always with the same Idempotency-Key unless it only `reads`;
    `tell` tells the user that a change is sent again."""

    def __init__(self, send: Callable[[], httpx.Response], *, reads: bool, tell: Callable[[str], None]) -> None:
        self._send, self._reads, self._tell = send, reads, tell
        self.attempts = 0
        self.doubtful = False
        """Whether an attempt may have made the change without a word to the user."""

    def answer(self) -> httpx.Response:
        """Return the answer, after at most ATTEMPTS. Raises httpx.HTTPError."""
        first = self._attempt()
        return _answer(first if self.wait(first) is None else self._repeated(first))

    def wait(self, outcome: Outcome) -> float | None:
        """Return the seconds to wait before the request is sent again; None if it must not be."""
        if isinstance(outcome, httpx.HTTPError):
            again = not self._reads and (isinstance(outcome, LOST) or (self.doubtful and isinstance(outcome, ABSENT)))
            return 2.0 ** (self.attempts - 1) if again else None
        later = [429, 503] if self._reads or not self.doubtful else [409, 429, 503]  # 409: the first is under way
        asked = outcome.headers.get("Retry-After", "")
        if outcome.status_code not in later or not asked.isdecimal() or int(asked) > LONGEST:
            return None
        return float(asked)

    def _attempt(self) -> Outcome:
        self.attempts += 1
        try:
            outcome: Outcome = self._send()
        except httpx.HTTPError as error:
            outcome = error
        if not self._reads:
            self.doubtful |= isinstance(outcome, LOST) or _status(outcome) == 503
        return outcome

    def _repeated(self, first: Outcome) -> Outcome:
        from tenacity import RetryCallState, Retrying, retry_if_result, stop_after_attempt, stop_after_delay

        def last(state: RetryCallState) -> Outcome:
            found: Outcome = state.outcome.result() if state.outcome else first
            return found

        def announce(state: RetryCallState) -> None:
            if state.attempt_number == 1 and not self._reads:
                self._tell(f"{_reason(first)}: weft asks again in {self.wait(first):g} s, for one and the same change")

        outcomes = chain([first], (self._attempt() for _ in repeat(None)))
        retrying = Retrying(
            retry=retry_if_result(lambda outcome: self.wait(outcome) is not None),
            wait=lambda state: self.wait(last(state)) or 0.0,
            stop=stop_after_attempt(ATTEMPTS) | stop_after_delay(PATIENCE),
            before_sleep=announce,
            retry_error_callback=last,
        )
        outcome: Outcome = retrying(next, outcomes)
        return outcome


def _answer(outcome: Outcome) -> httpx.Response:
    if isinstance(outcome, httpx.HTTPError):
        raise outcome
    return outcome


def _status(outcome: Outcome) -> int:
    return outcome.status_code if isinstance(outcome, httpx.Response) else 0


def _reason(outcome: Outcome) -> str:
    if isinstance(outcome, httpx.TimeoutException):
        return "the controller did not answer in time"
    if isinstance(outcome, httpx.HTTPError):
        return "the controller's answer was lost"
    return f"the controller cannot answer yet ({outcome.status_code})"
