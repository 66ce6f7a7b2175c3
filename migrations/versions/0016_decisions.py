"""Decisions on moves; figures in profiles for later predictions"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

NAME = sa.String(63).with_variant(sa.String(63, collation="C"), "postgresql")
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "decisions",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("vm", NAME, nullable=False),
        sa.Column("device", NAME, nullable=False),
        sa.Column("source", NAME, nullable=False),
        sa.Column("destination", NAME, nullable=False),
        sa.Column("course", sa.String(16), nullable=False),
        sa.Column("reasons", sa.JSON(), nullable=False),
        sa.Column("prospect", sa.JSON(), nullable=False),
        sa.Column("estimate", sa.JSON(), nullable=False),
        sa.Column("move", NAME, nullable=True),
        sa.Column("at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decisions")),
        sqlite_autoincrement=True,
    )
    for column in ("vm", "move"):
        op.create_index(op.f(f"ix_decisions_{column}"), "decisions", [column])
    op.add_column("profiles", sa.Column("model_seconds", sa.Double(), nullable=True))
    op.add_column("profiles", sa.Column("disk", sa.BigInteger(), nullable=True))
    op.add_column("profiles", sa.Column("ratio", sa.Double(), nullable=True))


def downgrade() -> None:
    """Loses decisions, and of profiles model_seconds, disk and ratio."""
    for column in ("ratio", "disk", "model_seconds"):
        op.drop_column("profiles", column)
    op.drop_table("decisions")
