"""The certificates that keep a rotation from ending: those that are good and from the former authority."""

from collections.abc import Sequence

from alembic.migration import MigrationContext
from sqlalchemy.exc import SQLAlchemyError

from controller.core.clock import now
from controller.core.unavailable import Unavailable
from controller.db import certificates
from controller.db.engine import Database
from controller.db.schema import head
from controller.trust.ceremony import CertificateInUse, NotMade

_UNASKED = "whether certificates of the authority of before are in use cannot be told"


async def in_use(url: str, issuer: str) -> Sequence[CertificateInUse]:
    """Return the good certificates from the key `issuer` in the controller's database. Certificates of an unknown key,
    issued by an earlier release, count as well. Raises NotMade if the database cannot be read."""
    database = Database(url)
    try:
        async with database.read() as session:
            revision = await session.run_sync(
                lambda session: MigrationContext.configure(session.connection()).get_current_revision()
            )
            if revision != head():
                raise NotMade(
                    f"{_UNASKED}: WEFT_DATABASE_URL names a database at step {revision or 'none'}, and this release is "
                    f"at {head()}; give it the controller's, or --force"
                )
            return await certificates.in_use(session, issuer, now())
    except (Unavailable, SQLAlchemyError) as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise NotMade(f"{_UNASKED}: WEFT_DATABASE_URL: {reason}; give it the controller's, or --force") from error
    finally:
        await database.close()
