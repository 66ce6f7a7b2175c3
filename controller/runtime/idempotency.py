"""Requests that must take effect once, however often and at whichever replica they are repeated. The transaction that
makes the change also notes it under the request's Idempotency-Key. If a replica dies, another one finds the key, knows
whether the change was made, and answers without making it again."""

from contextvars import ContextVar
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.refusals import conflict
from controller.db import idempotency


@dataclass
class Once:
    """One request. `made` is the generation of the change that its first attempt made, None if it made none; `owner` is
    the instance of the replica that works on it now."""

    key: str
    owner: str
    made: int | None = None
    done: bool = False

    async def note(self, session: AsyncSession, generation: int) -> None:
        """Note the change that is made now, once. Raises Refused if another replica has taken the request over."""
        if self.done:
            return
        if not await idempotency.made(session, self.key, self.owner, generation):
            raise conflict("another replica works on a request with this Idempotency-Key")
        self.done = True


ONCE: ContextVar[Once | None] = ContextVar("once", default=None)
"""The request that is being answered, if it must take effect once."""
