"""How long a controller itself has promised a lease, whatever agents report"""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("leases", sa.Column("promised_until", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Loses promised_until of leases: in the release before, an agent's late report ends leases granted since."""
    op.execute("ALTER TABLE leases DROP COLUMN promised_until")  # a table made anew would number leases again
