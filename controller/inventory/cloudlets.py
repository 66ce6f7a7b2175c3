"""Cloudlets that are added, changed and removed: what the database has of them beside the intent."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core import tokens
from controller.core.alterations import described
from controller.core.intent import Cloudlet
from controller.db import cloudlets as table
from controller.db import events
from controller.identity.certificates import end
from controller.trust.authority import Reason

SESSIONS = ("vtep", "asn", "ttl_security")
"""The fields that do more than describe a cloudlet."""


@dataclass(frozen=True)
class EnrolmentToken:
    """A one-time token with which the agent of a new cloudlet enrols. `approval`: the cloudlet then waits for it."""

    token: str
    expires_at: datetime
    approval: bool = False


async def added(session: AsyncSession, name: str, token: EnrolmentToken | None) -> None:
    """Record a new cloudlet; one without a token is unmanaged."""
    if token is None:
        await events.add(session, "cloudlet-added", name, f"unmanaged cloudlet {name} was added")
        return
    secret, expires = tokens.digest(token.token), token.expires_at
    await table.amend(session, name, token=secret, token_expires_at=expires, approval=token.approval)
    await events.add(session, "cloudlet-invited", name, f"cloudlet {name} was invited")


async def altered(session: AsyncSession, was: Cloudlet, now: Cloudlet, approval: bool | None = None) -> None:
    """Record an altered cloudlet; `approval`: whether its agent's next enrolment waits for approval, if that is
    altered."""
    said = [described(was, now)] if was != now else []
    if approval is not None:
        await table.amend(session, now.name, approval=approval)
        said.append(f"approval {str(approval).lower()}")
    only = all(getattr(was, field) == getattr(now, field) for field in SESSIONS)
    done = "described" if only and approval is None else "changed"
    text = ": ".join([f"cloudlet {now.name} was {done}", *filter(None, [", ".join(filter(None, said))])])
    await events.add(session, f"cloudlet-{done}", now.name, text)


async def removed(session: AsyncSession, name: str) -> None:
    """Record that a cloudlet is removed, and end its certificates."""
    await events.add(session, "cloudlet-removed", name, f"cloudlet {name} was removed")
    await end(session, name, Reason.CEASED)
