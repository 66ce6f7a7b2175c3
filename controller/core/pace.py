"""How often something is told."""


class Pace:
    """A token bucket: `burst` at once, then `per_second`."""

    def __init__(self, burst: float, per_second: float) -> None:
        self._burst, self._per_second = burst, per_second
        self._tokens, self._since, self._held_back = burst, 0.0, 0

    def admit(self, now: float) -> int | None:
        """None: not now (`now` in seconds of any monotonic clock). Else how many were held back since the last one."""
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._since) * self._per_second)
        self._since = now
        if self._tokens < 1:
            self._held_back += 1
            return None
        self._tokens -= 1
        held_back, self._held_back = self._held_back, 0
        return held_back
