"""The way back to an earlier release's database."""

from sqlalchemy.exc import SQLAlchemyError

from controller.core.unavailable import Unavailable
from controller.db.engine import Database
from controller.db.schema import UnknownRevision, downgrade, reverted, step
from controller.offline.at_work import at_work


class NotDowngraded(Exception):  # noqa: N818 - it says what is
    """The database is as it was; the message is one sentence for the operator."""


async def down(url: str, to: str, dry_run: bool) -> str:
    """Take the database at a URL back to a step, and return the migrations that are reverted, each with what is lost.
    With `dry_run` nothing is changed. Raises NotDowngraded."""
    database = Database(url)
    try:
        async with database.read() as session:
            at = await session.run_sync(lambda session: step(session.connection()))
        if at is None:
            raise NotDowngraded("no controller has ever used the database")
        steps = reverted(at, to)
        if not steps:
            return f"the database is at step {to} already"
        if not dry_run:
            await database.close()
            if somebody := await at_work(url):
                raise NotDowngraded(f"{somebody} works on the database: stop it first")
            await downgrade(database, to)
    except (Unavailable, UnknownRevision, SQLAlchemyError) as error:
        raise NotDowngraded(f"the database: {error}") from error
    finally:
        await database.close()
    lines = [f"  {one.step} {one.title}: {one.loses}" for one in steps]
    done = f"would go from step {at} to {to}, back over" if dry_run else f"went from step {at} to {to}, back over"
    return "\n".join([f"the database {done}", *lines])
