"""Addresses that clients have found in use by somebody else, and give back with DHCPDECLINE. Pure."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from agents.leases.pair import Kind, same
from controller.wire.delegations import Client, Declined

QUARANTINE = 3600.0
"""Seconds for which nobody gets such an address: whoever uses it may be gone by then."""

MOST_OF_CLIENT = 3
"""Addresses in quarantine on the word of one client: more are more likely the client's fault, or its intent."""

SHARE = 8
"""At most one pair of so many that an agent holds is in quarantine, so that no device takes a LAN's addresses away."""

Keep = Callable[[str, str, Any], None]


@dataclass
class _Case:
    client: Client
    kind: Kind
    until: float
    whole: bool
    told: bool = False


class Quarantine:
    """Pairs by number. Times are in seconds since the machine started; `keep` is called with what has to be on disk."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._cases: dict[int, _Case] = {}

    def restore(self, number: int, value: Any, now: float | None) -> None:
        """Takes a case in that was kept; `now`: the clock has begun anew meanwhile."""
        client, kind, until, whole, told = value
        self._cases[number] = _Case(Client(**client), kind, until if now is None else now + QUARANTINE, whole, told)

    def admits(self, client: Client, held: int) -> bool:
        """Whether a client is believed that finds an address in use, where the agent holds so many pairs."""
        own = sum(same(case.client, client) for case in self._cases.values())
        return own < MOST_OF_CLIENT and len(self._cases) < max(1, held // SHARE)

    def put(self, number: int, kind: Kind, client: Client, until: float, *, whole: bool) -> None:
        """Nobody gets this half of the pair before then, or with `whole` either half."""
        self._cases[number] = _Case(client, kind, until, whole)
        self._save(number)

    def withholds(self, number: int, kind: Kind | None = None) -> bool:
        """Whether this half of a pair is given to nobody; None: whether the pair is."""
        case = self._cases.get(number)
        return case is not None and (case.whole or case.kind == kind)

    def end(self, now: float) -> bool:
        """Ends what is over; whether anything was."""
        over = [number for number, case in self._cases.items() if case.until <= now]
        for number in over:
            del self._cases[number]
            self._keep("declined", str(number), None)
        return bool(over)

    def untold(self, now: float) -> list[Declined]:
        """What the controller has not yet said that it has heard."""
        return [
            Declined(
                mac=case.client.mac,
                client_id=case.client.client_id,
                number=number,
                kind=case.kind,
                left=max(1, int(case.until - now)),
                whole=case.whole,
            )
            for number, case in self._cases.items()
            if not case.told
        ]

    def heard(self, numbers: Collection[int]) -> None:
        """The controller has heard of these."""
        for number in numbers:
            if number in self._cases and not self._cases[number].told:
                self._cases[number].told = True
                self._save(number)

    def _save(self, number: int) -> None:
        case = self._cases[number]
        client = {"mac": case.client.mac, "client_id": case.client.client_id}
        self._keep("declined", str(number), [client, case.kind, case.until, case.whole, case.told])
