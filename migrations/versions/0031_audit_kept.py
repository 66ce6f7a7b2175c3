"""The database itself refuses to change or remove entries of the audit log"""

from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

WHY = "entries of the audit log are neither changed nor taken away"


def upgrade() -> None:
    """Add triggers that refuse changes. The owner of the table can still remove the triggers. (SQLite drops them with
    the table: a revision that makes the table anew, as `batch_alter_table` does, has to make the triggers anew.)"""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            f"CREATE FUNCTION audit_kept() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '{WHY}'; END $$"
        )
        op.execute(
            "CREATE TRIGGER audit_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON audit"
            " FOR EACH STATEMENT EXECUTE FUNCTION audit_kept()"
        )
    else:
        for what in ("update", "delete"):
            refused = f"SELECT RAISE(ABORT, '{WHY}')"
            op.execute(f"CREATE TRIGGER audit_kept_{what} BEFORE {what} ON audit BEGIN {refused}; END")


def downgrade() -> None:
    """Nothing is lost."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP TRIGGER audit_kept ON audit")
        op.execute("DROP FUNCTION audit_kept()")
    else:
        for what in ("update", "delete"):
            op.execute(f"DROP TRIGGER audit_kept_{what}")
