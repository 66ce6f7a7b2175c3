"""The load of each cloudlet's host"""

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

NAME = sa.String(63).with_variant(sa.String(63, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "host_loads",
        sa.Column("cloudlet", NAME, primary_key=True),
        sa.Column("processors", sa.Integer(), nullable=False),
        sa.Column("busy", sa.Double(), nullable=False),
        sa.Column("memory_free", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    """Loses host_loads: agents report them again, and an older release does not look at them."""
    op.drop_table("host_loads")
