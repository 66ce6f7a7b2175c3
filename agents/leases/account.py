"""The agent's messages to the controller about leases, and the effect of the answers. Pure."""

from agents.leases.book import Book
from agents.leases.pair import Kind
from controller.wire.delegations import Client, Entry, Exchange, Exchanged

BATCH = 400
FORGET = 16


class Account:
    """The exchange of one book with the controller. `_tell_blocks`: the controller has not confirmed yet which blocks
    are held."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self._tell_blocks = True
        self._refused = False
        self._forget = False

    @property
    def due(self) -> bool:
        """Whether there is something to report, or to ask for, that has not been refused."""
        wanting = self.book.room.wanted(len(self.book.pairs)) > 0 and (self._forget or not self._refused)
        news = self.book.changed or self.book.room.quarantine.untold(0.0)
        return bool(news or self.book.room.dropped or self._tell_blocks or wanting)

    def exchange(self, endpoint: str, turn: int, ask: list[Client], now: float) -> Exchange:
        """Return the message for the controller."""
        book = self.book
        book.room.mark()
        chosen = list(book.changed)[:BATCH]
        want, dropped = book.room.wanted(len(book.pairs)), sorted(book.room.dropped)
        forget = book.idle(now, FORGET) if want and self._refused else []
        self._forget = False
        return Exchange(
            endpoint=endpoint,
            incarnation=book.incarnation,
            turn=turn,
            acked=book.acked,
            entries=[self._entry(number, kind, now) for number, kind in chosen],
            more=len(chosen) < len(book.changed),
            blocks=book.room.held if self._tell_blocks or want or dropped else None,
            want=want,
            give_back=dropped,
            forget=forget,
            ask=ask,
            resting=book.room.rests,
            declined=book.room.quarantine.untold(now),
        )

    def hear(self, sent: Exchange, answer: Exchanged, now: float) -> None:
        """Take in the controller's answer to `sent`."""
        book = self.book
        self._rules(answer)
        if answer.anew or answer.resync:
            self._tell_blocks = True
            if answer.anew:
                book.begin_anew(now)
            else:
                book.acked = 0
                book.keep("meta", "acked", 0)
                book.retell(0)
            return
        self._acknowledge(answer.acked)
        book.room.quarantine.heard([declined.number for declined in sent.declined])
        book.room.drop_resting()
        if sent.blocks is not None:
            self._tell_blocks = bool(answer.blocks)
        book.room.gone(sent.give_back)
        book.forget(set(sent.forget) & set(answer.forgotten), now) if sent.forget else None
        for known in answer.known:
            book.learn(known, now)
        for client in sent.ask:
            if (found := book.people.who(client)) is not None:
                found[0].asked = now
        if answer.blocks:
            book.room.add(answer.blocks, book.pairs)
        if sent.want:
            refused = not answer.blocks
            self._forget = bool(answer.forgotten) or (refused and not self._refused)
            self._refused = refused

    def _rules(self, answer: Exchanged) -> None:
        book = self.book
        if book.hosts != answer.hosts:
            book.hosts = answer.hosts
            book.keep("meta", "hosts", book.hosts.model_dump())
        said = (answer.lease_seconds, answer.without, answer.bound)
        if (book.seconds, book.room.without, book.bound) == said:
            return
        book.seconds, book.room.without, book.bound = said
        book.longest = max(book.longest, book.seconds)
        kept = {"seconds": book.seconds, "longest": book.longest, "without": book.room.without, "bound": book.bound}
        for key, value in kept.items():
            book.keep("meta", key, value)
        book.room.count(book.pairs)

    def _acknowledge(self, acked: int) -> None:
        book = self.book
        while book.changed and next(iter(book.changed.values())) <= acked:
            book.changed.popitem(last=False)
        if acked > book.acked:
            book.acked = acked
            book.keep("meta", "acked", acked)

    def _entry(self, number: int, kind: Kind, now: float) -> Entry:
        pair = self.book.pairs[number]
        half = pair.halves[kind]
        client = half.client or pair.device.clients[kind]
        return Entry(
            mac=client.mac,
            client_id=client.client_id,
            version=half.version,
            number=number,
            kind=kind,
            hostname=half.hostname,
            device=pair.device.name,
            left=int(half.until - now) + 1 if half.until > now else 0,
            sure=pair.confirmed,
        )
