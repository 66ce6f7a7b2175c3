"""Consent of tenants to endpoints"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("endpoints") as endpoints:
        endpoints.add_column(sa.Column("consented_by", sa.String(200), nullable=True))
        endpoints.add_column(sa.Column("consent_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Loses consented_by and consent_at of endpoints: the release before holds no endpoint back."""
    with op.batch_alter_table("endpoints") as endpoints:
        endpoints.drop_column("consent_at")
        endpoints.drop_column("consented_by")
