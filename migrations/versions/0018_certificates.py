"""Certificates of cloudlets"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

NAME = sa.String(63).with_variant(sa.String(63, collation="C"), "postgresql")
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "certificates",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("serial", sa.String(40), nullable=False),
        sa.Column("cloudlet", NAME, nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("not_before", TIME, nullable=False),
        sa.Column("not_after", TIME, nullable=False),
        sa.Column("revoked_at", TIME, nullable=True),
        sa.Column("reason", sa.String(32), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_certificates")),
        sa.UniqueConstraint("serial", name=op.f("uq_certificates_serial")),
        sqlite_autoincrement=True,
    )
    for column in ("cloudlet", "not_after"):
        op.create_index(op.f(f"ix_certificates_{column}"), "certificates", [column])


def downgrade() -> None:
    """Loses certificates."""
    op.drop_table("certificates")
