"""Endpoints from which VMs may be announced; VMs at EVPN endpoints are noted, so that the controller tells route
servers"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

NAME = sa.String(63).with_variant(sa.String(63, collation="C"), "postgresql")
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "berths",
        sa.Column("name", NAME, primary_key=True),
        sa.Column("macs", sa.JSON, nullable=False),
        sa.Column("endpoints", sa.JSON, nullable=False),
        sa.Column("kept", sa.JSON, nullable=False),
    )
    op.create_table("berths_due", sa.Column("id", NUMBER, primary_key=True), sa.Column("vm", NAME, nullable=False))
    op.execute(
        "INSERT INTO berths_due (vm) SELECT vms.name FROM vms JOIN endpoints ON endpoints.name = vms.endpoint"
        " JOIN cloudlets ON cloudlets.name = endpoints.cloudlet WHERE cloudlets.pe = 'evpn' ORDER BY vms.name"
    )


def downgrade() -> None:
    """Loses the endpoints from which VMs may be announced (berths, berths_due): route servers check gateways' MACs
    alone."""
    op.drop_table("berths_due")
    op.drop_table("berths")
