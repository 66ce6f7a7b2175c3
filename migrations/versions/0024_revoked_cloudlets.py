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
    """Loses revoked: these cloudlets stay without a credential, and their PEs are accepted again."""
    op.drop_column("cloudlets", "revoked")
