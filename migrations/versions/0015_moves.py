"""VMs, moves and their steps, profiles, and sightings of devices"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

NAME = sa.String(63).with_variant(sa.String(63, collation="C"), "postgresql")
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "vms",
        sa.Column("name", NAME, nullable=False),
        sa.Column("device", NAME, nullable=False),
        sa.Column("endpoint", NAME, nullable=False),
        sa.Column("machine", sa.JSON(), nullable=False),
        sa.Column("serving", sa.String(1), nullable=False),
        sa.Column("address", sa.String(45), nullable=True),
        sa.Column("condition", sa.String(16), nullable=False),
        sa.Column("memory_used", sa.BigInteger(), nullable=True),
        sa.Column("dirty_rate", sa.Double(), nullable=True),
        sa.Column("seen_at", TIME, nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.CheckConstraint("serving IN ('a', 'b')", name=op.f("ck_vms_serving")),
        sa.ForeignKeyConstraint(["device"], ["devices.name"], name=op.f("fk_vms_device")),
        sa.ForeignKeyConstraint(["endpoint"], ["endpoints.name"], name=op.f("fk_vms_endpoint")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_vms")),
        sa.UniqueConstraint("device", name=op.f("uq_vms_device")),
    )
    op.create_index(op.f("ix_vms_endpoint"), "vms", ["endpoint"])
    op.create_table(
        "moves",
        sa.Column("name", NAME, nullable=False),
        sa.Column("vm", NAME, nullable=False),
        sa.Column("device", NAME, nullable=False),
        sa.Column("source", NAME, nullable=False),
        sa.Column("destination", NAME, nullable=False),
        sa.Column("live", NAME, nullable=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("step", sa.String(16), nullable=False),
        sa.Column("reason", sa.String(1000), nullable=False),
        sa.Column("asked_by", NAME, nullable=False),
        sa.Column("saga", sa.JSON(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("changed_at", TIME, nullable=False),
        sa.Column("ended_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(["live"], ["vms.name"], name=op.f("fk_moves_live")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_moves")),
        sa.UniqueConstraint("live", name=op.f("uq_moves_live")),
    )
    for column in ("vm", "source", "destination", "created_at"):
        op.create_index(op.f(f"ix_moves_{column}"), "moves", [column])
    op.create_table(
        "move_steps",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("move", NAME, nullable=False),
        sa.Column("step", sa.String(16), nullable=False),
        sa.Column("undoing", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("detail", sa.String(1000), nullable=False),
        sa.Column("figures", sa.JSON(), nullable=False),
        sa.Column("began_at", TIME, nullable=False),
        sa.Column("ended_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(["move"], ["moves.name"], name=op.f("fk_move_steps_move"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_move_steps")),
    )
    op.create_index(op.f("ix_move_steps_move"), "move_steps", ["move"])
    op.create_table(
        "profiles",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("move", NAME, nullable=False),
        sa.Column("vm", NAME, nullable=False),
        sa.Column("image", NAME, nullable=False),
        sa.Column("source", NAME, nullable=False),
        sa.Column("destination", NAME, nullable=False),
        sa.Column("memory", sa.BigInteger(), nullable=False),
        sa.Column("memory_used", sa.BigInteger(), nullable=True),
        sa.Column("dirty_rate", sa.Double(), nullable=True),
        sa.Column("bandwidth", sa.Double(), nullable=True),
        sa.Column("rtt_before_ms", sa.Double(), nullable=True),
        sa.Column("rtt_during_ms", sa.Double(), nullable=True),
        sa.Column("predicted_seconds", sa.Double(), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("paused_ms", sa.Double(), nullable=True),
        sa.Column("wire", sa.BigInteger(), nullable=True),
        sa.Column("at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_profiles")),
        sa.UniqueConstraint("move", name=op.f("uq_profiles_move")),
    )
    for column in ("vm", "image", "at"):
        op.create_index(op.f(f"ix_profiles_{column}"), "profiles", [column])
    op.create_table(
        "sightings",
        sa.Column("device", NAME, nullable=False),
        sa.Column("endpoint", NAME, nullable=True),
        sa.Column("since", TIME, nullable=True),
        sa.Column("seen_endpoint", NAME, nullable=False),
        sa.Column("seen_since", TIME, nullable=False),
        sa.Column("how", sa.String(8), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("turns", sa.Double(), nullable=False),
        sa.Column("turned_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["device"], ["devices.name"], name=op.f("fk_sightings_device"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("device", name=op.f("pk_sightings")),
    )


def downgrade() -> None:
    """Loses vms, moves, move_steps, profiles and sightings. The VMs go on running where they are."""
    for table in ("sightings", "profiles", "move_steps", "moves", "vms"):
        op.drop_table(table)
