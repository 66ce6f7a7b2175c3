"""How often one client may ask."""

from collections import OrderedDict


class Pace:
    """A token bucket per client: `burst` messages at once, then `rate` per second. At most `clients` are remembered;
    the one not heard of for longest is forgotten first."""

    def __init__(self, burst: float = 10, rate: float = 2, clients: int = 4096) -> None:
        self._burst, self._rate, self._clients = burst, rate, clients
        self._buckets: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    def allows(self, client: bytes, now: float) -> bool:
        """Whether `client` may have this message answered at `now` (seconds, any monotonic clock)."""
        tokens, since = self._buckets.pop(client, (self._burst, now))
        tokens = min(self._burst, tokens + (now - since) * self._rate)
        allowed = tokens >= 1
        self._buckets[client] = (tokens - 1 if allowed else tokens, now)
        if len(self._buckets) > self._clients:
            self._buckets.popitem(last=False)
        return allowed
