"""names in the order of their bytes, 64-bit numbers"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

NAMES = {
    "bandwidths": ("cloudlet", "neighbour"),
    "claims": ("route_server",),
    "clients": ("device",),
    "cloudlets": ("name",),
    "devices": ("name",),
    "endpoints": ("name", "cloudlet", "tenant"),
    "families": ("name",),
    "leases": ("endpoint", "device"),
    "members": ("vcp", "endpoint"),
    "neighbour_history": ("cloudlet", "neighbour"),
    "neighbours": ("cloudlet", "neighbour"),
    "pairs": ("endpoint", "device"),
    "reporters": ("cloudlet",),
    "route_servers": ("name",),
    "statics": ("endpoint", "name"),
    "usage": ("endpoint",),
    "vcps": ("name", "family"),
}
NUMBERS = {
    "clients": ("id",),
    "cloudlets": ("version",),
    "generations": ("number",),
    "members": ("generation",),
    "policies": ("generation",),
}


def upgrade() -> None:
    """Only PostgreSQL changes: SQLite always sorts by bytes, and its integers always have 64 bits."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER SEQUENCE clients_id_seq AS bigint")
        _alter(sa.String(length=63, collation="C"), sa.BigInteger())


def downgrade() -> None:
    """PostgreSQL refuses this if a number does not fit any more."""
    if op.get_bind().dialect.name == "postgresql":
        _alter(sa.String(length=63), sa.Integer())
        op.execute("ALTER SEQUENCE clients_id_seq AS integer")


def _alter(name: sa.String, number: sa.Integer) -> None:
    for kinds, kind in ((NAMES, name), (NUMBERS, number)):
        for table, columns in kinds.items():
            for column in columns:
                op.alter_column(table, column, type_=kind)
