"""the last use of an API token"""

import sqlalchemy as sa
from alembic import op

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tokens", sa.Column("used_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Loses the times at which tokens were last used (tokens.used_at)."""
    with op.batch_alter_table("tokens") as altered:
        altered.drop_column("used_at")
