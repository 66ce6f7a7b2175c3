"""When a move over a thin line found the link fast"""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("bandwidths", sa.Column("fast_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Loses fast_at of bandwidths: every move between cloudlets with thin lines is a thin one."""
    op.execute("ALTER TABLE bandwidths DROP COLUMN fast_at")
