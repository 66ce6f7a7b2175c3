"""The caller is stored with each kept answer, so that each caller has a share of them"""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("idempotency", sa.Column("caller", sa.String(64)))
    op.create_index("ix_idempotency_caller", "idempotency", ["caller", "at"])


def downgrade() -> None:
    """Loses the callers of requests (idempotency.caller): answers are deleted by their age alone."""
    op.drop_index("ix_idempotency_caller", "idempotency")
    op.drop_column("idempotency", "caller")
