"""delegations, blocks of pairs and their owners"""

import sqlalchemy as sa
from alembic import op

NAME = sa.String(63).with_variant(sa.String(63, collation="C"), "postgresql")

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "delegations",
        sa.Column("endpoint", NAME, nullable=False),
        sa.Column("epoch", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("incarnation", sa.String(32), nullable=False),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.Column("applied", sa.BigInteger(), nullable=False),
        sa.Column("longest", sa.BigInteger(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("rest_seconds", sa.Double(), nullable=True),
        sa.Column("rest_until", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["endpoint"], ["endpoints.name"], name=op.f("fk_delegations_endpoint"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("endpoint", "epoch", name=op.f("pk_delegations")),
        sa.UniqueConstraint("endpoint", "incarnation", name=op.f("uq_delegations_endpoint_incarnation")),
    )
    op.create_table(
        "blocks",
        sa.Column("endpoint", NAME, nullable=False),
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.CheckConstraint("block >= 0", name=op.f("ck_blocks_block")),
        sa.ForeignKeyConstraint(["endpoint"], ["endpoints.name"], name=op.f("fk_blocks_endpoint"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("endpoint", "block", name=op.f("pk_blocks")),
        sa.UniqueConstraint("endpoint", "block", "epoch", name=op.f("uq_blocks_endpoint_block_epoch")),
    )
    with op.batch_alter_table("pairs") as pairs:
        pairs.add_column(sa.Column("block", sa.BigInteger(), nullable=True))
        pairs.add_column(sa.Column("epoch", sa.Integer(), nullable=True))
        pairs.add_column(sa.Column("lent", sa.Integer(), nullable=True))
    op.execute("UPDATE pairs SET block = number / 8, epoch = 0")
    op.execute("INSERT INTO blocks (endpoint, block, epoch) SELECT DISTINCT endpoint, block, 0 FROM pairs")
    with op.batch_alter_table("pairs") as pairs:
        pairs.alter_column("block", existing_type=sa.BigInteger(), nullable=False)
        pairs.alter_column("epoch", existing_type=sa.Integer(), nullable=False)
        pairs.create_check_constraint(op.f("ck_pairs_block"), "block = number / 8")
        pairs.create_foreign_key(
            op.f("fk_pairs_endpoint_block_epoch"),
            "blocks",
            ["endpoint", "block", "epoch"],
            ["endpoint", "block", "epoch"],
            onupdate="CASCADE",
        )


def downgrade() -> None:
    """Loses the owners of ranges of addresses: delegations and blocks, and of pairs block, epoch and lent."""
    with op.batch_alter_table("pairs") as pairs:
        pairs.drop_constraint(op.f("fk_pairs_endpoint_block_epoch"), type_="foreignkey")
        pairs.drop_constraint(op.f("ck_pairs_block"), type_="check")
        pairs.drop_column("lent")
        pairs.drop_column("epoch")
        pairs.drop_column("block")
    op.drop_table("blocks")
    op.drop_table("delegations")
