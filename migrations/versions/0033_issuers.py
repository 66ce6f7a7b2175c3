"""Which key of an authority a certificate is from"""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("certificates", sa.Column("issuer", sa.String(64), nullable=True))


def downgrade() -> None:
    """Loses issuer of certificates."""
    op.execute("ALTER TABLE certificates DROP COLUMN issuer")  # a table made anew would number certificates again
