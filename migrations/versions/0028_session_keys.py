"""Names of the keys that BGP sessions are signed with"""

import sqlalchemy as sa
from alembic import op

NAME = sa.String(63).with_variant(sa.String(63, collation="C"), "postgresql")

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "session_keys",
        sa.Column("cloudlet", NAME, primary_key=True),
        sa.Column("credential", sa.String(64), nullable=False),
        sa.Column("wanted", sa.String(32), nullable=True),
        sa.Column("held", sa.String(32), nullable=True),
        sa.Column("in_force", sa.JSON, nullable=False),
        sa.Column("seen", sa.JSON, nullable=False),
    )


def downgrade() -> None:
    """Loses which keys are in force (session_keys): route servers and agents continue with the keys that they have."""
    op.drop_table("session_keys")
