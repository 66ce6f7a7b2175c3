"""usage of LANs"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "usage",
        sa.Column("endpoint", sa.String(63), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("peak", sa.Integer(), nullable=False),
        sa.Column("told", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["endpoint"], ["endpoints.name"], name=op.f("fk_usage_endpoint"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("endpoint", "day", name=op.f("pk_usage")),
    )


def downgrade() -> None:
    """Loses the usage of LANs."""
    op.drop_table("usage")
