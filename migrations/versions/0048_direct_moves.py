"""Moves that went without a thin line, as the link is fast"""

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("profiles", sa.Column("direct", sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    """Loses direct: which past moves went without a thin line."""
    op.execute("ALTER TABLE profiles DROP COLUMN direct")
