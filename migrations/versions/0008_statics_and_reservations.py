"""static hosts, and pairs that are reserved"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("pairs") as pairs:
        pairs.alter_column("device", existing_type=sa.String(63), nullable=True)
        pairs.add_column(sa.Column("held_until", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "statics",
        sa.Column("endpoint", sa.String(63), nullable=False),
        sa.Column("address", sa.String(45), nullable=False),
        sa.Column("name", sa.String(63), nullable=False),
        sa.Column("mac", sa.String(17), nullable=True),
        sa.Column("pair", sa.BigInteger(), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["endpoint"], ["endpoints.name"], name=op.f("fk_statics_endpoint")),
        sa.ForeignKeyConstraint(["pair"], ["pairs.id"], name=op.f("fk_statics_pair")),
        sa.PrimaryKeyConstraint("endpoint", "address", name=op.f("pk_statics")),
        sa.UniqueConstraint("endpoint", "name", name=op.f("uq_statics_endpoint_name")),
    )
    op.create_index("ix_statics_pair", "statics", ["pair"])


def downgrade() -> None:
    """Loses the statics, the reservations (held_until), and pairs that have no device, with their leases."""
    op.drop_table("statics")
    op.execute("DELETE FROM leases WHERE pair IN (SELECT id FROM pairs WHERE device IS NULL)")
    op.execute("DELETE FROM pairs WHERE device IS NULL")
    with op.batch_alter_table("pairs") as pairs:
        pairs.drop_column("held_until")
        pairs.alter_column("device", existing_type=sa.String(63), nullable=False)
