"""Receivers of webhooks, and the attempts to send to them"""

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0050"
branch_labels = None
depends_on = None

NAME = sa.String(63).with_variant(sa.String(63, collation="C"), "postgresql")
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "webhooks",
        sa.Column("name", NAME, primary_key=True),
        sa.Column("url", sa.String(2000), nullable=False),
        sa.Column("root", sa.Text()),
        sa.Column("type", sa.String(200)),
        sa.Column("about", sa.String(200)),
        sa.Column("source", sa.String(200)),
        sa.Column("sealed", sa.String(2000), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("paused_because", sa.String(300), nullable=False),
        sa.Column("position", NUMBER, nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("failing_since", TIME),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("retry_at", TIME),
        sa.Column("error", sa.String(300), nullable=False),
        sa.Column("missed", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint("state IN ('active', 'paused')", name="state"),
    )
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("webhook", NAME, nullable=False),
        sa.Column("event", NUMBER, nullable=False),
        sa.Column("type", sa.String(40), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("status", sa.Integer()),
        sa.Column("milliseconds", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(300), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("webhook_deliveries_by_webhook", "webhook_deliveries", ["webhook", "id"])


def downgrade() -> None:
    """Loses webhooks and webhook_deliveries: receivers get no events, and must be registered again."""
    op.drop_table("webhook_deliveries")
    op.drop_table("webhooks")
