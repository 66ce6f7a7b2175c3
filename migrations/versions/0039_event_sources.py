"""The cause of an event outside of the controller"""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("events", sa.Column("source", sa.String(80), nullable=True))
    op.create_index("events_by_source", "events", ["source", "id"])


def downgrade() -> None:
    """Loses source of events: which agent, LAN or PE caused each."""
    op.drop_index("events_by_source", "events")
    op.execute("ALTER TABLE events DROP COLUMN source")
