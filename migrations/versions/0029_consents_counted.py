"""Endpoints of tenants that the policy in force did not ask count as consented to, because from now on tenants are
asked unless the policy excludes it"""

from collections.abc import Iterator
from datetime import UTC, datetime

import sqlalchemy as sa
import yaml
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

BY = "the upgrade, counted as consented"
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    endpoints = sa.table("endpoints", *map(sa.column, ("tenant", "consented_by")), sa.column("consent_at", TIME))
    connection = op.get_bind()
    policies = sa.table("policies", *map(sa.column, ("id", "text", "withdrawn_at")))
    in_force = sa.select(policies.c.text).where(policies.c.withdrawn_at.is_(None)).order_by(policies.c.id.desc())
    for tenant in _not_asked(connection.scalar(in_force.limit(1)) or ""):
        ours = (endpoints.c.tenant == tenant) & endpoints.c.consented_by.is_(None)
        connection.execute(endpoints.update().where(ours).values(consented_by=BY, consent_at=datetime.now(UTC)))


def downgrade() -> None:
    """Rewrites consented_by and consent_at of the endpoints that were counted: nobody has consented to them."""
    op.execute(
        sa.text("UPDATE endpoints SET consented_by = NULL, consent_at = NULL WHERE consented_by = :by").bindparams(
            by=BY
        )
    )


def _not_asked(policy: str) -> Iterator[str]:
    """Yield the tenants for which a policy says nothing about consent. A policy that cannot be read is not in force
    either."""
    try:
        document = yaml.safe_load(policy)
    except yaml.YAMLError:
        return
    tenants = document.get("tenants") if isinstance(document, dict) else None
    for name, said in tenants.items() if isinstance(tenants, dict) else ():
        if said is None or (isinstance(said, dict) and "consent" not in said):
            yield str(name)
