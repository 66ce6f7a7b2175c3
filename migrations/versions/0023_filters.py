"""Reports of cloudlets on their access rules"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

NAME = sa.String(63).with_variant(sa.String(63, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "filters",
        sa.Column("cloudlet", NAME, nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["cloudlet"], ["cloudlets.name"], name=op.f("fk_filters_cloudlet_cloudlets"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("cloudlet", name=op.f("pk_filters")),
    )


def downgrade() -> None:
    """Loses filters, the last counters of agents, which report them again."""
    op.drop_table("filters")
