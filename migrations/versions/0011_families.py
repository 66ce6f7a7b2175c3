"""the greatest number that a pool of a family ever had"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    families = op.create_table(
        "families",
        sa.Column("name", sa.String(63), nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_families")),
    )
    vcps = sa.table("vcps", sa.column("name", sa.String), sa.column("family", sa.String))
    last: dict[str, int] = {}
    for name, family in op.get_bind().execute(sa.select(vcps.c.name, vcps.c.family).where(vcps.c.family.is_not(None))):
        number = name.rpartition("-")[2]
        last[family] = max(last.get(family, 0), int(number) if number.isdigit() and len(number) < 10 else 0)
    if last:
        op.bulk_insert(families, [{"name": name, "last": number} for name, number in last.items()])


def downgrade() -> None:
    """Loses the families."""
    op.drop_table("families")
