"""Work that waits for a transaction's commit."""

from collections.abc import Callable

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncSession


def after_commit(session: AsyncSession, work: Callable[[], None]) -> None:
    """Call `work` once the session's transaction is committed; never if it is rolled back."""
    event.listen(session.sync_session, "after_commit", lambda _: work(), once=True)
