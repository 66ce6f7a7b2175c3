"""Moves that are to begin at a time"""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None

NAME = sa.String(63).with_variant(sa.String(63, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "scheduled_moves",
        sa.Column("name", NAME, primary_key=True),
        sa.Column("vm", NAME, nullable=False),
        sa.Column("endpoint", NAME, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("keep", sa.Boolean(), nullable=False),
        sa.Column("copied_before", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(200), nullable=False),
        sa.Column("asked_by", NAME, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("detail", sa.String(1000), nullable=False),
        sa.Column("tried", sa.Boolean(), nullable=False),
        sa.Column("move", NAME),
        sa.Column("copy_ahead", NAME),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.UniqueConstraint("vm", "endpoint", "at"),
        sa.CheckConstraint("state IN ('waiting', 'begun', 'refused', 'missed', 'cancelled')", name="state"),
    )
    op.create_index("ix_scheduled_moves_vm", "scheduled_moves", ["vm"])
    op.create_index("ix_scheduled_moves_at", "scheduled_moves", ["at"])


def downgrade() -> None:
    """Loses scheduled_moves: no move begins by itself at a time."""
    op.drop_table("scheduled_moves")
