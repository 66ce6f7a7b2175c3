"""Keys that credentials of cloudlets are bound to"""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("cloudlets", sa.Column("key", sa.String(64), nullable=True))


def downgrade() -> None:
    """Loses each `key`: credentials are good without a certificate again."""
    op.drop_column("cloudlets", "key")
