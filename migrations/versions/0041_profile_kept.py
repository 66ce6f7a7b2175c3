"""Whether both ends of a past move had a copy of the VM's memory"""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("profiles", sa.Column("kept", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    """Loses kept of profiles: predictions no longer tell moves with kept copies from others."""
    op.execute("ALTER TABLE profiles DROP COLUMN kept")
