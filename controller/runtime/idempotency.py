"""A request that is to be done once, however often it is repeated and wherever: what it has changed is noted under its
Idempotency-Key in the transaction that makes the change. So whoever finds the key of a request whose replica has died
knows whether the change was made, and answers it without making it again."""

from contextvars import ContextVar
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.refusals import conflict
from controller.db import idempotency


@dataclass
class Once:
    """`made` is the generation of the change that the request made when it was first tried, None if it made none then;
    `owner` the instance of the replica that works on it now."""

    key: str
    owner: str
    made: int | None = None
    done: bool = False

    async def note(self, session: AsyncSession, generation: int) -> None:
        """Notes what is made now, once. Raises Refused if another replica has taken the request over."""
        if self.done:
            return
        if not await idempotency.made(session, self.key, self.owner, generation):
            raise conflict("another replica works on a request with this Idempotency-Key")
        self.done = True


ONCE: ContextVar[Once | None] = ContextVar("once", default=None)
"""The request that is being answered, if it is to be done once."""
