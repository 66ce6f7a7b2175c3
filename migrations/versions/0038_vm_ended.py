"""The reason for which a VM ended by itself"""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("vms", sa.Column("ended", sa.String(400), nullable=True))


def downgrade() -> None:
    """Loses ended of vms: the reason for which VMs ended that nobody stopped."""
    op.execute("ALTER TABLE vms DROP COLUMN ended")
