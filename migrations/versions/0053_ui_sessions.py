"""Sessions of the web UI"""

import sqlalchemy as sa
from alembic import op

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "ui_sessions",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("credential", sa.String(64), nullable=True),
        sa.Column("claims", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("who", sa.String(200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("credential IS NOT NULL OR claims IS NOT NULL", name=op.f("ck_ui_sessions_grant")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_ui_sessions")),
    )
    op.create_index("ui_sessions_by_who", "ui_sessions", ["who"])
    op.create_index("usage_filling", "usage", ["day"], sqlite_where=sa.text("told"), postgresql_where=sa.text("told"))


def downgrade() -> None:
    """Loses ui_sessions: users of the web UI sign in again."""
    op.drop_index("usage_filling", table_name="usage")
    op.drop_index("ui_sessions_by_who", table_name="ui_sessions")
    op.drop_table("ui_sessions")
