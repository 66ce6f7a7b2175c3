"""several controllers on one database: revisions of the intent, replicas, where agents are, which replica answers a
key"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

NAME = sa.String(63).with_variant(sa.String(63, collation="C"), "postgresql")
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "revisions",
        sa.Column("number", NUMBER, autoincrement=False, nullable=False),
        sa.Column("touched", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_revisions")),
    )
    op.create_table(
        "replicas",
        sa.Column("name", NAME, nullable=False),
        sa.Column("instance", sa.String(32), nullable=False),
        sa.Column("release", sa.String(40), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("leading", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_replicas")),
    )
    op.create_table(
        "attendance",
        sa.Column("cloudlet", NAME, nullable=False),
        sa.Column("replica", NAME, nullable=True),
        sa.Column("proved", NUMBER, nullable=False),
        sa.Column("report", sa.Text(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("cloudlet", name=op.f("pk_attendance")),
    )
    with op.batch_alter_table("idempotency") as idempotency:
        idempotency.add_column(sa.Column("owner", sa.String(32), nullable=True))
        idempotency.add_column(sa.Column("generation", NUMBER, nullable=True))


def downgrade() -> None:
    """Loses the data that controllers share: revisions, replicas, attendance, and the owner and generation of answers
    that are kept."""
    with op.batch_alter_table("idempotency") as idempotency:
        idempotency.drop_column("generation")
        idempotency.drop_column("owner")
    for table in ("attendance", "replicas", "revisions"):
        op.drop_table(table)
