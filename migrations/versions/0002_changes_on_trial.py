"""changes on trial"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("generations", schema=None) as batch_op:
        batch_op.add_column(sa.Column("state", sa.String(length=16), server_default="made", nullable=False))
        batch_op.add_column(sa.Column("confirm_by", sa.DateTime(timezone=True), nullable=True))
        batch_op.add_column(sa.Column("settled_at", sa.DateTime(timezone=True), nullable=True))
        batch_op.add_column(sa.Column("fallback", sa.JSON(), nullable=True))


def downgrade() -> None:
    """Loses which changes were on trial, and their outcome: state, confirm_by, settled_at, fallback."""
    with op.batch_alter_table("generations", schema=None) as batch_op:
        batch_op.drop_column("fallback")
        batch_op.drop_column("settled_at")
        batch_op.drop_column("confirm_by")
        batch_op.drop_column("state")
