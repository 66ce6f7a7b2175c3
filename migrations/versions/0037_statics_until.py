"""The end of the time in which an address that a client found in use is not leased"""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("statics", sa.Column("until", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Loses until of statics: addresses that clients found in use stay static hosts until an operator gives them up."""
    op.execute("ALTER TABLE statics DROP COLUMN until")
