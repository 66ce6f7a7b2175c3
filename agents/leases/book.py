"""The leases of one LAN: which device has which pair, and so which answer a client gets. Pure: callers pass the time,
and `records()` returns the data that must be on disk before anybody hears of a decision.

An address goes to a new client only after the time that was promised to the last one is over. A pair goes to another
device only after the controller has agreed to forget the last one. A client can therefore renew its own lease by any
copy of this book, however old; all else needs a book that is known to be the latest.
"""

import uuid
from collections import OrderedDict
from collections.abc import Iterable
from math import inf
from typing import Any

from agents.leases.client_index import ClientIndex
from agents.leases.pair import KINDS, Device, Half, Kind, Pair, same
from agents.leases.quarantine import QUARANTINE
from agents.leases.room import Key, Room
from agents.leases.shares import Shares
from controller.wire.delegations import Client, Known
from controller.wire.host_settings import NO_SETTINGS, HostSettings

FRESH = 60.0
"""Seconds for which the agent does not ask the controller again about the same device."""

Record = tuple[str, str, Any]
"""Table, key and value of a record for the journal; value None: the record is deleted."""

Answer = tuple[int, Kind, str | None]
"""The pair's number, which half of it, and the name of the device, if it has one."""


class Book:
    """The leases of one endpoint. Times are in seconds since the machine started. The policy sets `bound` (whether only
    its holder may use an address) and `hosts` (the settings for hosts). No lease ends before `next_end`."""

    def __init__(self) -> None:
        self.incarnation = uuid.uuid4().hex
        self.seconds = self.longest = self.version = self.acked = 0
        self.bound = True
        self.hosts = NO_SETTINGS
        self.pairs: dict[int, Pair] = {}
        self.people = ClientIndex()
        self.changed: OrderedDict[tuple[int, Kind], int] = OrderedDict()
        self.next_end = 0.0
        self._doubtful = True  # whether there may be pairs that are not confirmed
        self._unkept: list[Record] = [("meta", "incarnation", self.incarnation)]
        self.room = Room(self.keep)
        self.shares = Shares()

    @classmethod
    def kept(cls, records: dict[tuple[str, str], Any], proven: bool, now: float) -> "Book":
        """Return the book from the journal's records. Unless it is `proven` to be the latest one, it begins a new
        incarnation."""
        book = cls()
        meta = {key: value for (table, key), value in records.items() if table == "meta"}
        if "incarnation" not in meta:
            return book
        book._unkept.clear()
        book.incarnation, book.acked = meta["incarnation"], meta.get("acked", 0)
        book.seconds, book.longest = meta.get("seconds", 0), meta.get("longest", 0)
        book.bound, book.hosts = meta.get("bound", True), HostSettings(**meta.get("hosts", {}))
        book.room.without = [(first, last) for first, last in meta.get("without", [])]
        for (table, key), value in records.items():
            if table == "block":
                book.room.restore(key, value)
            elif table == "pair":
                pair = book.pairs[int(key)] = Pair.of(int(key), value)
                book.people.add(pair.device)
            elif table == "declined":
                book.room.quarantine.restore(int(key), value, None if proven else now)
        if proven:
            book.version = max([book.acked, *(h.version for p in book.pairs.values() for h in p.halves.values())])
            book.retell(book.acked)
            book.room.count(book.pairs)
        else:
            for half in (half for pair in book.pairs.values() for half in pair.halves.values()):
                # The clock has begun anew, and it is not known how long the machine was off.
                half.until = now + book.longest if half.until else 0.0
                half.promised = now + book.longest if half.promised else 0.0
            book.begin_anew(now)
        return book

    def begin_anew(self, now: float) -> None:
        """Begin a new incarnation: no pair counts as free until every lease that this agent may have given is over."""
        self.incarnation = uuid.uuid4().hex
        self.version = self.acked = 0
        self._doubtful = True
        self.changed.clear()
        self.keep("meta", "incarnation", self.incarnation)
        self.keep("meta", "acked", 0)
        self.room.rest(now + self.longest, self.pairs)
        for pair in self.pairs.values():
            pair.confirmed = False
            for kind, half in pair.halves.items():
                half.version = 0
                if half.until > now:
                    self._change(pair, kind)
            self.keep_pair(pair)

    def knows(self, client: Client, now: float) -> bool:
        """Return whether asking the controller about this client is of no use: it has just answered, or the client has
        a lease."""
        found = self.people.who(client)
        if found is None:
            return False
        device, kind = found
        pair = self.pairs.get(device.number) if device.number is not None else None
        return device.asked + FRESH > now or (pair is not None and pair.confirmed and pair.halves[kind].until > now)

    def offer(self, client: Client, wanted: int | None, now: float) -> Answer | None:
        """Return the pair, half and device name that the client can have; None if there is nothing for it now."""
        found = self.people.who(client)
        device, kind = found or (None, "md")
        name = device.name if device else None
        if device is None or device.number is None:
            if name is None and not self.shares.admits(client.mac, self.room.free, self.room.size, now):
                return None
            number = self.room.choose(_whose(client, name), wanted, now)
            return None if number is None else (number, kind, name)
        pair = self.pairs[device.number]
        half = pair.halves[kind]
        held = half.client is not None and half.promised > now
        if not pair.confirmed or (held and not self._holds(half.client, client, (device, kind))):
            return None
        if self.room.quarantine.withholds(pair.number, kind):
            return None
        return pair.number, kind, name

    def grant(
        self, client: Client, hostname: str | None, wanted: tuple[int, Kind] | None, renewing: bool, now: float
    ) -> Answer | None:
        """Return the same as `offer`, and lease it if the client asks for it or for no certain address. A client can
        renew the lease that it holds, even if it has turned out to belong to another device since."""
        pair = self.pairs.get(wanted[0]) if wanted else None
        if pair is not None and wanted is not None:
            half = pair.halves[wanted[1]]
            if half.until > now and half.client and same(half.client, client) and (pair.confirmed or renewing):
                self._lease(pair, wanted[1], client, hostname, now)
                return *wanted, pair.device.name
        offered = self.offer(client, wanted[0] if wanted else None, now)
        if offered is None or wanted not in (None, offered[:2]):
            return offered
        number, kind, _ = offered
        found = self.people.who(client)
        device = found[0] if found else Device(clients={"md": client}, asked=now)
        if number not in self.pairs:
            self.pairs[number] = Pair(number, device)
            device.number = number
            self.people.add(device)
            self.room.take(number, _whose(client, device.name))
        self._lease(self.pairs[number], kind, client, hostname, now)
        return offered

    def release(self, client: Client, number: int, kind: Kind, now: float) -> None:
        """End the lease of a client that gives its address back. No other client gets the address before the lease
        would have ended."""
        pair = self.pairs.get(number)
        half = pair.halves[kind] if pair else None
        if pair and half and half.until > now and half.client and same(half.client, client):
            half.until = 0.0
            self._change(pair, kind)
            self.keep_pair(pair)

    def decline(self, client: Client, number: int, kind: Kind, now: float) -> bool:
        """Withhold an address that the client found in use by another machine: for a time nobody gets it. Unless the
        other half is leased, nobody gets that half either, and the device gets another pair. Return whether the client
        is believed: only if it leases the address, and only up to the quarantine's limits."""
        pair = self.pairs.get(number)
        half = pair.halves[kind] if pair else None
        if pair is None or half is None or half.until <= now or half.client is None or not same(half.client, client):
            return False
        if not self.room.quarantine.admits(client, self.room.size):
            return False
        whole = all(other is half or other.until <= now for other in pair.halves.values())
        until = max(now + QUARANTINE, *(other.promised for other in pair.halves.values()))
        self.room.quarantine.put(number, kind, client, until, whole=whole)
        if whole:
            self._drop(pair)
            self.room.count(self.pairs)
        else:
            half.until = 0.0
            self._change(pair, kind)
            self.keep_pair(pair)
        return True

    def holder(self, number: int, kind: Kind, now: float) -> Client | None:
        """Return the client that may use an address: it has the lease, or the controller said so when this book
        began."""
        half = self.pairs[number].halves[kind] if number in self.pairs else None
        if half is None or half.client is None:
            return None
        return half.client if half.until > now or (not half.version and half.promised > now) else None

    def held(self, now: float) -> int:
        """Return the number of leases."""
        return sum(half.until > now for pair in self.pairs.values() for half in pair.halves.values())

    def leased(self, client: Client, number: int, kind: Kind, now: float) -> bool:
        """Return whether a client has leased an address."""
        half = self.pairs[number].halves[kind] if number in self.pairs else None
        return half is not None and half.until > now and half.client is not None and same(half.client, client)

    def tidy(self, now: float) -> None:
        """Note which leases and rests are over, and give up what is not needed. A pair that is not confirmed, promised
        to nobody and in no block of this agent is dropped; its device then counts as new."""
        if self.next_end <= now:
            self._end_leases(now)
        if self.room.quarantine.end(now):
            self.room.count(self.pairs)
        for block in self.room.wake(now, self.pairs):
            for number in range(block.first, block.first + block.pairs):
                if number in self.pairs and not self.pairs[number].confirmed:
                    self.pairs[number].confirmed = True
                    self.keep_pair(self.pairs[number])
        if self._doubtful:
            doubtful = [pair for pair in self.pairs.values() if not pair.confirmed]
            for pair in doubtful:
                if not pair.promised(now) and not self.room.lies_in(pair.number):
                    self._drop(pair)
            self._doubtful = bool(doubtful)
        self.room.drop_spare(len(self.pairs))

    def learn(self, known: Known, now: float) -> None:
        """Take in what the controller says about a device. An address that is leased stays where it is: only the next
        lease is from the right pair."""
        clients: dict[Kind, Client] = {k: c for k, c in zip(KINDS, (known.md, known.vm), strict=True) if c}
        if known.number is not None and self.room.quarantine.withholds(known.number):
            known = known.model_copy(update={"number": None})  # the controller does not know of the quarantine yet
        device = self._local(known, clients)
        pair = self.pairs.get(known.number) if known.number is not None else None
        if known.number is not None and (pair is None or not pair.confirmed or pair.device is device):
            if pair is None:
                pair = self.pairs[known.number] = Pair(known.number, device)
                self.room.take(known.number)
            if device.number is not None and device.number != known.number:
                self._orphan(self.pairs[device.number])
            if pair.device is not device:
                self.people.remove(pair.device)
                for half in pair.halves.values():
                    half.until = 0.0
            pair.device, pair.confirmed, device.number = device, True, known.number
            for kind, left in zip(KINDS, (known.md_left, known.vm_left), strict=True):
                half = pair.halves[kind]
                if left and not half.version:
                    self._promise(half, now + left)
                    half.client = half.client or clients.get(kind)
        self.people.remove(device)
        device.name, device.clients, device.asked = known.device, clients, now
        self.people.add(device)
        if device.number is not None:
            self.keep_pair(self.pairs[device.number])

    def idle(self, now: float, most: int) -> list[int]:
        """Return pairs of blocks in use that nobody leases, the least recently used first."""
        found = [p for p in self.pairs.values() if not p.promised(now) and p.confirmed and self.room.holds(p.number)]
        found.sort(key=lambda pair: max(half.version for half in pair.halves.values()))
        return [pair.number for pair in found[:most]]

    def forget(self, numbers: Iterable[int], now: float) -> None:
        """Forget whose these pairs are: the controller has agreed."""
        for number in numbers:
            pair = self.pairs.get(number)
            if pair is not None and not pair.promised(now):
                self._drop(pair)
        self.room.count(self.pairs)

    def _drop(self, pair: Pair) -> None:
        """Delete all data about a pair."""
        self.people.remove(pair.device)
        pair.device.number = None
        del self.pairs[pair.number]
        self.shares.drop(pair.number)
        for kind in KINDS:
            self.changed.pop((pair.number, kind), None)
        self.keep("pair", str(pair.number), None)

    def retell(self, after: int) -> None:
        """Mark every change of a version after `after` to be reported (again)."""
        versions = [(half.version, p.number, k) for p in self.pairs.values() for k, half in p.halves.items()]
        self.changed.clear()
        self.changed.update({(number, kind): version for version, number, kind in sorted(versions) if version > after})

    def keep(self, table: str, key: str, value: Any) -> None:
        """Note that a record has to be on disk."""
        self._unkept.append((table, key, value))

    def keep_pair(self, pair: Pair) -> None:
        """Note that a pair has changed and has to be on disk."""
        self.keep("pair", str(pair.number), pair.document())

    def records(self) -> list[Record]:
        """Return the records that have to be on disk and were not returned before."""
        unkept, self._unkept = self._unkept, []
        return unkept

    def _local(self, known: Known, clients: dict[Kind, Client]) -> Device:
        """Return the device of which the controller speaks: the one of that name, or one without a name that got a pair
        for the same client. Take the clients from every other device that has them."""
        device = self.people.named(known.device)
        for kind, client in clients.items():
            for found, as_kind in self.people.all_of(client):
                if found is device and as_kind == kind:
                    continue
                fits = found.name is None and as_kind == kind and known.number in (None, found.number)
                if device is None and fits:
                    device = found
                elif found is not device and found.number is not None:
                    self._orphan(self.pairs[found.number])
                elif found is not device:
                    self.people.remove(found)
        return device or Device()

    def _orphan(self, pair: Pair) -> None:
        """Separate a pair from its device. A client that leases from it goes on, but does not get this pair again."""
        self.people.remove(pair.device)
        pair.device.number = None
        pair.device = Device(number=pair.number)
        self.keep_pair(pair)

    def _holds(self, holder: Client | None, client: Client, who: tuple[Device, Kind]) -> bool:
        return holder is not None and (same(holder, client) or self.people.who(holder) == who)

    def _lease(self, pair: Pair, kind: Kind, client: Client, hostname: str | None, now: float) -> None:
        half = pair.halves[kind]
        self.shares.hold(pair.number, client.mac)
        half.client, half.hostname, half.until = client, hostname or half.hostname, now + self.seconds
        self._promise(half, half.until)
        self._change(pair, kind)
        self.keep_pair(pair)

    def _promise(self, half: Half, until: float) -> None:
        half.promised = max(half.promised, until)
        self.next_end = min(self.next_end, half.promised)

    def _end_leases(self, now: float) -> None:
        """Note which leases are over. This looks at every pair, so it is called only when the next one can be over."""
        self.next_end = inf
        for pair in self.pairs.values():
            over = [half for half in pair.halves.values() if 0 < half.promised <= now]
            for half in over:
                half.until = half.promised = 0.0
            if over:
                self.keep_pair(pair)
            self.next_end = min([self.next_end, *(half.promised for half in pair.halves.values() if half.promised)])

    def _change(self, pair: Pair, kind: Kind) -> None:
        self.version += 1
        pair.halves[kind].version = self.version
        self.changed[pair.number, kind] = self.version
        self.changed.move_to_end((pair.number, kind))


def _whose(client: Client, device: str | None) -> list[Key]:
    """Return the keys for which a free pair is kept: the client's device, as its other client may ask at the same time,
    and the client, as it may have asked before anybody named its device."""
    known: list[Key] = [("device", device)] if device is not None else []
    return [*known, ("id", client.client_id) if client.client_id else ("mac", client.mac or "")]
