"""tenants of endpoints, families of pools, IPv6 LANs"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("endpoints") as endpoints:
        endpoints.add_column(sa.Column("tenant", sa.String(63), nullable=True))
        endpoints.add_column(sa.Column("prefix6", sa.String(49), nullable=True))
        endpoints.add_column(sa.Column("gateway6", sa.String(45), nullable=True))
    with op.batch_alter_table("vcps") as vcps:
        vcps.add_column(sa.Column("family", sa.String(63), nullable=True))


def downgrade() -> None:
    """Loses the family of pools; tenant, prefix6 and gateway6 of endpoints."""
    with op.batch_alter_table("vcps") as vcps:
        vcps.drop_column("family")
    with op.batch_alter_table("endpoints") as endpoints:
        endpoints.drop_column("gateway6")
        endpoints.drop_column("prefix6")
        endpoints.drop_column("tenant")
