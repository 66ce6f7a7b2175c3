"""how many routes an endpoint may have"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("endpoints") as endpoints:
        endpoints.add_column(sa.Column("max_routes", sa.Integer(), nullable=True))
        endpoints.create_check_constraint(op.f("ck_endpoints_max_routes"), "max_routes >= 1")


def downgrade() -> None:
    """Loses the limits, max_routes."""
    with op.batch_alter_table("endpoints") as endpoints:
        endpoints.drop_constraint(op.f("ck_endpoints_max_routes"), type_="check")
        endpoints.drop_column("max_routes")
