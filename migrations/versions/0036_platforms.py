"""Platforms of VMs at each cloudlet, so that a move to a different platform is refused beforehand"""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

NAME = sa.String(63).with_variant(sa.String(63, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "platforms",
        sa.Column("cloudlet", NAME, primary_key=True),
        sa.Column("driver", NAME, primary_key=True),
        sa.Column("platform", sa.JSON, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    """Loses agents' reports on their hypervisors (platforms): only the source refuses a move to a different
    platform."""
    op.drop_table("platforms")
