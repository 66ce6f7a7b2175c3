"""Cloudlets and pools that are IP VPNs"""

from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None

COLUMNS = {"cloudlets": "pe", "vcps": "flavour"}

NUMBERED = "site >= 1 AND (site <= 4095 OR vni IS NOT NULL)"
"""The sites of the release before: VE IDs, or EVPN's with a VNI."""


def upgrade() -> None:
    for table, column in COLUMNS.items():
        _allow(table, column, "'vpls', 'evpn', 'vpnv4', 'vpnv6'")
    _sites("site >= 1")


def downgrade() -> None:
    """IP VPNs become EVPNs with VNIs (column vni), whose PEs announce nothing that the release before takes."""
    op.execute('UPDATE endpoints SET vni = 10000 + "index" WHERE vni IS NULL AND site > 4095')
    _sites(NUMBERED)
    for table, column in COLUMNS.items():
        op.execute(f"UPDATE {table} SET {column} = 'evpn' WHERE {column} IN ('vpnv4', 'vpnv6')")
        _allow(table, column, "'vpls', 'evpn'")


def _allow(table: str, column: str, flavours: str) -> None:
    with op.batch_alter_table(table) as altered:
        altered.drop_constraint(op.f(f"ck_{table}_{column}"), type_="check")
        altered.create_check_constraint(op.f(f"ck_{table}_{column}"), f"{column} IN ({flavours})")


def _sites(rule: str) -> None:
    with op.batch_alter_table("endpoints") as altered:
        altered.drop_constraint(op.f("ck_endpoints_site"), type_="check")
        altered.create_check_constraint(op.f("ck_endpoints_site"), rule)
