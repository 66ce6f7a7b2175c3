"""Encrypted tunnels"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0026"
branch_labels = None
depends_on = None

NAME = sa.String(63).with_variant(sa.String(63, collation="C"), "postgresql")
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)
COUNTS = ("bytes_in", "bytes_out", "packets_in", "packets_out", "dropped_in", "dropped_out")


def upgrade() -> None:
    op.create_table(
        "tunnels",
        sa.Column("cloudlet", NAME, nullable=False),
        sa.Column("peer", NAME, nullable=False),
        sa.Column("local", sa.String(45), nullable=False),
        sa.Column("remote", sa.String(45), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("since", TIME, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("ike", sa.String(120), nullable=False),
        sa.Column("esp", sa.String(120), nullable=False),
        sa.Column("keyed_at", TIME, nullable=True),
        sa.Column("rekey_at", TIME, nullable=True),
        *(sa.Column(name, NUMBER, nullable=False) for name in COUNTS),
        sa.Column("why", sa.String(300), nullable=False),
        sa.PrimaryKeyConstraint("cloudlet", "peer", name=op.f("pk_tunnels")),
        sqlite_with_rowid=False,
    )
    for column in ("peer", "state"):
        op.create_index(op.f(f"ix_tunnels_{column}"), "tunnels", [column])
    op.create_table(
        "tunnel_alarms",
        sa.Column("one", NAME, nullable=False),
        sa.Column("other", NAME, nullable=False),
        sa.Column("since", TIME, nullable=False),
        sa.PrimaryKeyConstraint("one", "other", name=op.f("pk_tunnel_alarms")),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Loses tunnels and tunnel_alarms; agents report them again."""
    op.drop_table("tunnel_alarms")
    op.drop_table("tunnels")
