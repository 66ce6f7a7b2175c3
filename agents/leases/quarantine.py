"""Addresses that clients found in use by another machine and gave back with DHCPDECLINE. Pure."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from agents.leases.pair import Kind, same
from controller.wire.delegations import Client, Declined

QUARANTINE = 3600.0
"""Seconds for which nobody gets such an address; after them its user may be gone."""

MOST_OF_CLIENT = 3
"""Most addresses in quarantine that one client reported. More are more likely the client's error, or its intent."""

SHARE = 8
"""One pair of this many that an agent holds may be in quarantine, so that no device can use up a LAN's addresses."""

Keep = Callable[[str, str, Any], None]


@dataclass
class _Case:
    client: Client
    kind: Kind
    until: float
    whole: bool
    told: bool = False


class Quarantine:
    """Cases by the number of the pair. Times are in seconds since the machine started; `keep` is called with the
    records that have to be on disk."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._cases: dict[int, _Case] = {}

    def restore(self, number: int, value: Any, now: float | None) -> None:
        """Take in a case from the journal. `now` is given if the clock has begun anew since."""
        client, kind, until, whole, told = value
        self._cases[number] = _Case(Client(**client), kind, until if now is None else now + QUARANTINE, whole, told)

    def admits(self, client: Client, held: int) -> bool:
        """Return whether to believe a client that finds an address in use, if the agent holds `held` pairs."""
        own = sum(same(case.client, client) for case in self._cases.values())
        return own < MOST_OF_CLIENT and len(self._cases) < max(1, held // SHARE)

    def put(self, number: int, kind: Kind, client: Client, until: float, *, whole: bool) -> None:
        """Withhold this half of the pair until then, or with `whole` both halves."""
        self._cases[number] = _Case(client, kind, until, whole)
        self._save(number)

    def withholds(self, number: int, kind: Kind | None = None) -> bool:
        """Return whether nobody gets this half of a pair; with None: whether nobody gets the pair."""
        case = self._cases.get(number)
        return case is not None and (case.whole or case.kind == kind)

    def end(self, now: float) -> bool:
        """End the cases that are over. Return whether there were any."""
        over = [number for number, case in self._cases.items() if case.until <= now]
        for number in over:
            del self._cases[number]
            self._keep("declined", str(number), None)
        return bool(over)

    def untold(self, now: float) -> list[Declined]:
        """Return the cases that the controller has not confirmed yet."""
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
        """Note that the controller knows of these."""
        for number in numbers:
            if number in self._cases and not self._cases[number].told:
                self._cases[number].told = True
                self._save(number)

    def _save(self, number: int) -> None:
        case = self._cases[number]
        client = {"mac": case.client.mac, "client_id": case.client.client_id}
        self._keep("declined", str(number), [client, case.kind, case.until, case.whole, case.told])
