"""Cloudlets whose credentials were revoked"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("cloudlets", sa.Column("revoked", sa.Boolean, nullable=False, server_default=sa.false()))


def downgrade() -> None:
    """Forgets whose credentials were revoked: they stay without one, and their PEs are let in again."""
    op.drop_column("cloudlets", "revoked")
