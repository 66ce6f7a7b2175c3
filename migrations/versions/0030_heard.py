"""Whether an agent knows that the rest of its former incarnation is counted"""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("delegations") as delegations:
        delegations.add_column(sa.Column("heard", sa.Boolean, nullable=False, server_default=sa.true()))


def downgrade() -> None:
    """Loses heard of delegations: the release before takes blocks back when their rest is over, even if the agent does
    not know."""
    with op.batch_alter_table("delegations") as delegations:
        delegations.drop_column("heard")
