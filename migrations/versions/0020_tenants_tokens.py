"""Tokens of tenants"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

NAME = sa.String(63).with_variant(sa.String(63, collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("tokens", sa.Column("tenant", NAME, nullable=True))


def downgrade() -> None:
    """Loses the tenant of tokens, and with it the tokens of tenants, because the release before has no such role."""
    op.execute("DELETE FROM tokens WHERE tenant IS NOT NULL")
    op.drop_column("tokens", "tenant")
