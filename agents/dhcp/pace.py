"""A limit for how often one client may ask."""

from collections import OrderedDict


class Pace:
    """A token bucket per client: `burst` messages at once, then `rate` per second. At most `clients` are remembered;
    the client that was not heard for the longest time is forgotten first."""

    def __init__(self, burst: float = 10, rate: float = 2, clients: int = 4096) -> None:
        self._burst, self._rate, self._clients = burst, rate, clients
        self._buckets: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    def allows(self, client: bytes, now: float) -> bool:
        """Return whether this message of `client` may be answered at `now` (seconds, any monotonic clock)."""
        tokens, since = self._buckets.pop(client, (self._burst, now))
        tokens = min(self._burst, tokens + (now - since) * self._rate)
        allowed = tokens >= 1
        self._buckets[client] = (tokens - 1 if allowed else tokens, now)
        if len(self._buckets) > self._clients:
            self._buckets.popitem(last=False)
        return allowed
