"""The actor of a change, for the audit log: the caller of the current request, an agent, or the controller itself. The
first transaction that a request commits also writes its audit entry, so no change exists without an entry and no entry
without its change."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session, object_mapper
from sqlalchemy.orm.attributes import get_history
from sqlalchemy.orm.base import PASSIVE_NO_INITIALIZE

from controller.core import audit as core
from controller.core.intent import Intent
from controller.core.intent_diff import differing
from controller.core.names import printable
from controller.db import audit
from controller.db.certificates import CertificateRow
from controller.db.devices import ClientRow, DeviceRow
from controller.db.engine import last
from controller.db.leases import LeaseRow
from controller.db.moves import MoveRow
from controller.db.pairs import PairRow
from controller.db.static_hosts import StaticHostRow
from controller.db.tokens import TokenRow
from controller.db.vms import VmRow
from controller.db.webhooks import WebhookRow

TOLD = (
    DeviceRow,
    ClientRow,
    VmRow,
    MoveRow,
    PairRow,
    LeaseRow,
    StaticHostRow,
    TokenRow,
    CertificateRow,
    WebhookRow,
)
"""Rows whose values the audit log records before and after a change; `AuditContext.intent` records the intent."""

UNTOLD = ("digest", "sealed", "revision")
"""Columns that the audit log leaves out: the digest of a secret, an encrypted secret, and a counter."""


@dataclass
class AuditContext:
    """The actor and the changes of one audit entry. `who` is None until the caller is authenticated. `status` is the
    status of the answer if nothing goes wrong; `written` is the status that the log already has. `unasked` marks work
    that no user requested: it gets no entry if it changes nothing."""

    method: str
    path: str
    who: str | None = None
    status: int = 200
    body: bytes = b""
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    written: int | None = None
    unasked: bool = False

    def forget(self) -> None:
        """Drop the noted changes, because they were not committed."""
        self.before, self.after = {}, {}

    def intent(self, old: Intent, new: Intent) -> None:
        """Note the difference between two intents."""
        for side, told in zip((self.before, self.after), differing(old, new), strict=True):
            side |= told

    def rows(self, session: Session) -> None:
        """Note the rows that a flush writes."""
        for row in session.new:
            self._note(row, {}, _columns(row))
        for row in session.deleted:
            self._note(row, _columns(row), {})
        for row in session.dirty:
            if isinstance(row, TOLD):
                histories = {name: get_history(row, name, PASSIVE_NO_INITIALIZE) for name in _columns(row)}
                edits = {name: history for name, history in histories.items() if history.has_changes()}
                was = {name: (list(history.deleted) or [None])[0] for name, history in edits.items()}
                self._note(row, was, {name: getattr(row, name) for name in edits})

    def _note(self, row: object, before: dict[str, Any], after: dict[str, Any]) -> None:
        if not isinstance(row, TOLD):
            return
        key = "/".join(map(str, object_mapper(row).primary_key_from_instance(row)))
        for side, told in ((self.before, before), (self.after, after)):
            if told:
                side.setdefault(row.__tablename__, {}).setdefault(key, {}).update(told)


AUDIT_CONTEXT: ContextVar[AuditContext | None] = ContextVar("acting", default=None)
"""The context of the request or agent action in progress; None if it changes nothing."""


CONTROLLER = "controller"
"""The actor's name for work that the controller does by itself."""


@contextmanager
def acts(who: str, what: str, about: str) -> Iterator[None]:
    """Attribute all changes in this block to `who`, an agent or the controller. Within a request of an authenticated
    caller, the changes stay that caller's."""
    if (acting := AUDIT_CONTEXT.get()) is not None and acting.who is not None:
        yield
        return
    mine = AuditContext(what, printable(about, 1000), who, unasked=True)
    token = AUDIT_CONTEXT.set(mine)
    try:
        yield
    finally:
        AUDIT_CONTEXT.reset(token)
        mine.who = None


@contextmanager
def asks(who: str, method: str, path: str, status: int) -> Iterator[None]:
    """Attribute this block to a caller whose request the middleware does not audit, since its method only looks."""
    mine = AuditContext(method, path, who, status)
    token = AUDIT_CONTEXT.set(mine)
    try:
        yield
    finally:
        AUDIT_CONTEXT.reset(token)
        mine.who = None


def let_in(who: str, status: int) -> None:
    """Note the caller, and the status that answers the request if all goes well."""
    if acting := AUDIT_CONTEXT.get():
        acting.who, acting.status = who, status


def watch(session: AsyncSession) -> None:
    """Follow a transaction from its start, and add the audit entry at its end."""
    acting = AUDIT_CONTEXT.get()
    if acting is None or acting.who is None or acting.written is not None:
        return
    acting.forget()
    event.listen(session.sync_session, "after_flush", lambda session, _: acting.rows(session))

    def wrote(_: Session) -> None:
        acting.written = acting.status

    async def write(session: AsyncSession) -> None:
        await session.flush()
        if acting.unasked and not (acting.before or acting.after):
            return
        details = core.details(core.asked(acting.body), acting.before, acting.after)
        await audit.add(session, str(acting.who), acting.method, acting.path, acting.status, details)
        event.listen(session.sync_session, "after_commit", wrote, once=True)

    last(session, write)


def _columns(row: object) -> dict[str, Any]:
    return {c.key: getattr(row, c.key) for c in object_mapper(row).column_attrs if c.key not in UNTOLD}
