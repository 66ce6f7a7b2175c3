"""Until when an address is left alone that a client found in use"""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("statics", sa.Column("until", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Loses until of statics: addresses that clients found in use are static hosts' until somebody gives them up."""
    op.execute("ALTER TABLE statics DROP COLUMN until")
