"""Cloudlets and pools that are IP VPNs"""

from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None

COLUMNS = {"cloudlets": "pe", "vcps": "flavour"}


def upgrade() -> None:
    for table, column in COLUMNS.items():
        _allow(table, column, "'vpls', 'evpn', 'vpnv4', 'vpnv6'")


def downgrade() -> None:
    """IP VPNs become EVPNs, whose PEs announce nothing that the release before takes."""
    for table, column in COLUMNS.items():
        op.execute(f"UPDATE {table} SET {column} = 'evpn' WHERE {column} IN ('vpnv4', 'vpnv6')")
        _allow(table, column, "'vpls', 'evpn'")


def _allow(table: str, column: str, flavours: str) -> None:
    with op.batch_alter_table(table) as altered:
        altered.drop_constraint(op.f(f"ck_{table}_{column}"), type_="check")
        altered.create_check_constraint(op.f(f"ck_{table}_{column}"), f"{column} IN ({flavours})")
