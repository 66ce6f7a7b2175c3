"""Whether a move only copies, ahead of another one"""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("moves", sa.Column("ahead", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    """Loses ahead of moves: copies ahead of time count as moves that a user asked for."""
    op.execute("ALTER TABLE moves DROP COLUMN ahead")
