"""all applied policies are kept, with user, reason, plan and withdrawal"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("policies") as policies:
        policies.add_column(sa.Column("applied_by", sa.String(200), nullable=True))
        policies.add_column(sa.Column("note", sa.String(200), nullable=False, server_default=""))
        policies.add_column(sa.Column("summary", sa.JSON(), nullable=True))
        policies.add_column(sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True))
    with op.batch_alter_table("policies") as policies:
        policies.alter_column("note", existing_type=sa.String(200), existing_nullable=False, server_default=None)


def downgrade() -> None:
    """Loses who applied policies, the reasons and the plans: applied_by, note, summary, withdrawn_at. Also loses the
    policies that were withdrawn, which would otherwise be in force."""
    op.execute("DELETE FROM policies WHERE withdrawn_at IS NOT NULL")  # without the column they would be in force
    with op.batch_alter_table("policies") as policies:
        for column in ("withdrawn_at", "summary", "note", "applied_by"):
            policies.drop_column(column)
