"""site numbers beyond VE IDs for endpoints that have no labels"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

endpoints = sa.table("endpoints", sa.column("name", sa.String), sa.column("site", sa.Integer))
generations = sa.table("generations", sa.column("number", sa.Integer), sa.column("fabric", sa.String))


def upgrade() -> None:
    with op.batch_alter_table("endpoints") as batch:
        batch.drop_constraint(op.f("ck_endpoints_site"), type_="check")
        batch.create_check_constraint(op.f("ck_endpoints_site"), "site >= 1 AND (site <= 4095 OR vni IS NOT NULL)")


def downgrade() -> None:
    """Changes numbers that the older release does not know to free small ones. Route targets are made from them, so the
    older release has to make everything anew, as after a change of settings. If there are more than 4,095 endpoints,
    the constraint refuses, and nothing is changed."""
    connection = op.get_bind()
    taken = set(connection.scalars(sa.select(endpoints.c.site)))
    free = (number for number in range(1, 4096) if number not in taken)
    large = list(connection.scalars(sa.select(endpoints.c.name).where(endpoints.c.site > 4095).order_by("site")))
    for name, number in zip(large, free, strict=False):
        connection.execute(endpoints.update().where(endpoints.c.name == name).values(site=number))
    if large:
        connection.execute(generations.update().values(fabric=""))
    with op.batch_alter_table("endpoints") as batch:
        batch.drop_constraint(op.f("ck_endpoints_site"), type_="check")
        batch.create_check_constraint(op.f("ck_endpoints_site"), "site BETWEEN 1 AND 4095")
