"""VMs that start anew at another cloudlet: how, where they can, and how long it took"""

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None

NAME = sa.String(63).with_variant(sa.String(63, collation="C"), "postgresql")
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "initiations",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("move", NAME, nullable=False, unique=True),
        sa.Column("vm", NAME, nullable=False),
        sa.Column("image", NAME, nullable=False),
        sa.Column("driver", NAME, nullable=False),
        sa.Column("cloudlet", NAME, nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_initiations_image", "initiations", ["image"])
    op.create_table(
        "initiators",
        sa.Column("cloudlet", NAME, primary_key=True),
        sa.Column("drivers", sa.JSON(), nullable=False),
    )
    op.add_column("vms", sa.Column("initiation", sa.JSON(), nullable=True))


def downgrade() -> None:
    """Loses initiations, initiators and each VM's initiation. An initiation that is under way must end before: an older
    release cannot read its move."""
    op.execute("ALTER TABLE vms DROP COLUMN initiation")
    op.drop_table("initiators")
    op.drop_table("initiations")
