"""neighbours, their history, who reports them, bandwidths"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "bandwidths",
        sa.Column("cloudlet", sa.String(length=63), nullable=False),
        sa.Column("neighbour", sa.String(length=63), nullable=False),
        sa.Column("bits_per_second", sa.Double(), nullable=False),
        sa.Column("moves", sa.Integer(), nullable=False),
        sa.Column("last_bytes", sa.BigInteger(), nullable=False),
        sa.Column("last_seconds", sa.Double(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("bits_per_second >= 0", name=op.f("ck_bandwidths_bits_per_second")),
        sa.PrimaryKeyConstraint("cloudlet", "neighbour", name=op.f("pk_bandwidths")),
    )
    op.create_table(
        "neighbour_history",
        sa.Column("cloudlet", sa.String(length=63), nullable=False),
        sa.Column("span", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("neighbour", sa.String(length=63), nullable=False),
        sa.Column("rounds", sa.Integer(), nullable=False),
        sa.Column("method", sa.String(length=4), nullable=False),
        sa.Column("sent", sa.Integer(), nullable=False),
        sa.Column("received", sa.Integer(), nullable=False),
        sa.Column("min_ms", sa.Double(), nullable=True),
        sa.Column("median_ms", sa.Double(), nullable=True),
        sa.Column("p95_ms", sa.Double(), nullable=True),
        sa.Column("jitter_ms", sa.Double(), nullable=True),
        sa.CheckConstraint("span IN (0, 3600, 86400)", name=op.f("ck_neighbour_history_span")),
        sa.PrimaryKeyConstraint("cloudlet", "span", "at", "neighbour", name=op.f("pk_neighbour_history")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "neighbours",
        sa.Column("cloudlet", sa.String(length=63), nullable=False),
        sa.Column("neighbour", sa.String(length=63), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("fresh_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("method", sa.String(length=4), nullable=False),
        sa.Column("sent", sa.Integer(), nullable=False),
        sa.Column("received", sa.Integer(), nullable=False),
        sa.Column("min_ms", sa.Double(), nullable=True),
        sa.Column("median_ms", sa.Double(), nullable=True),
        sa.Column("p95_ms", sa.Double(), nullable=True),
        sa.Column("jitter_ms", sa.Double(), nullable=True),
        sa.Column("loss", sa.Double(), nullable=False),
        sa.Column("possible", sa.Boolean(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("received <= sent", name=op.f("ck_neighbours_received")),
        sa.PrimaryKeyConstraint("cloudlet", "neighbour", name=op.f("pk_neighbours")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_neighbours_neighbour"), "neighbours", ["neighbour"])

    op.create_table(
        "reporters",
        sa.Column("cloudlet", sa.String(length=63), nullable=False),
        sa.Column("run", sa.String(length=32), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("dropped", sa.BigInteger(), nullable=False),
        sa.Column("dropped_now", sa.BigInteger(), nullable=False),
        sa.Column("heard_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("rolled_until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("cloudlet", name=op.f("pk_reporters")),
    )
    op.create_index(op.f("ix_reporters_rolled_until"), "reporters", ["rolled_until"])


def downgrade() -> None:
    """Loses all measurements: neighbours, neighbour_history, reporters, bandwidths."""
    op.drop_index(op.f("ix_reporters_rolled_until"), table_name="reporters")
    op.drop_table("reporters")
    op.drop_index(op.f("ix_neighbours_neighbour"), table_name="neighbours")
    op.drop_table("neighbours")
    op.drop_table("neighbour_history")
    op.drop_table("bandwidths")
