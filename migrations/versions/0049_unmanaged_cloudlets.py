"""Cloudlets whose PE has no agent"""

import sqlalchemy as sa
from alembic import op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("cloudlets", sa.Column("unmanaged", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("cloudlets", sa.Column("asn", sa.BigInteger(), nullable=True))
    op.add_column("cloudlets", sa.Column("ttl_security", sa.Integer(), nullable=True))


def downgrade() -> None:
    """Loses unmanaged, asn and ttl_security of cloudlets: PEs without an agent stay, and the sessions of those in other
    ASes end."""
    op.execute("ALTER TABLE cloudlets DROP COLUMN ttl_security")
    op.execute("ALTER TABLE cloudlets DROP COLUMN asn")
    op.execute("ALTER TABLE cloudlets DROP COLUMN unmanaged")
