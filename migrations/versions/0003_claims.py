"""claims of route servers that are ahead of the database"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "claims",
        sa.Column("route_server", sa.String(length=63), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("route_server", name=op.f("pk_claims")),
    )


def downgrade() -> None:
    """Loses the claims."""
    op.drop_table("claims")
