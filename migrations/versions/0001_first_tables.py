"""first tables"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "cloudlets",
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("pe", sa.String(length=8), nullable=False),
        sa.Column("vtep", sa.String(length=45), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("approval", sa.Boolean(), nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("latitude", sa.Float(), nullable=True),
        sa.Column("longitude", sa.Float(), nullable=True),
        sa.Column("token", sa.String(length=64), nullable=True),
        sa.Column("token_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("token_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("credential", sa.String(length=64), nullable=True),
        sa.Column("agent_version", sa.String(length=64), nullable=True),
        sa.Column("last_seen", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.CheckConstraint("pe IN ('vpls', 'evpn')", name=op.f("ck_cloudlets_pe")),
        sa.CheckConstraint("state IN ('invited', 'pending', 'active', 'draining')", name=op.f("ck_cloudlets_state")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_cloudlets")),
        sa.UniqueConstraint("credential", name=op.f("uq_cloudlets_credential")),
        sa.UniqueConstraint("vtep", name=op.f("uq_cloudlets_vtep")),
    )
    op.create_table(
        "devices",
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("implicit", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_devices")),
    )
    op.create_table(
        "events",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("type", sa.String(length=40), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("text", sa.String(length=1000), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "generations",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("cause", sa.String(length=400), nullable=False),
        sa.Column("fabric", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_generations")),
    )
    op.create_table(
        "idempotency",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("request", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("etag", sa.String(length=100), nullable=True),
        sa.Column("media_type", sa.String(length=100), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_idempotency")),
    )
    with op.batch_alter_table("idempotency", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_idempotency_at"), ["at"], unique=False)

    op.create_table(
        "policies",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("filename", sa.String(length=200), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("applied_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_policies")),
    )
    op.create_table(
        "route_servers",
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("started_at", sa.String(length=64), nullable=False),
        sa.Column("event", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_route_servers")),
    )
    op.create_table(
        "vcps",
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("flavour", sa.String(length=8), nullable=False),
        sa.Column("description", sa.String(length=200), nullable=False),
        sa.Column("managed_by_policy", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.CheckConstraint("flavour IN ('vpls', 'evpn')", name=op.f("ck_vcps_flavour")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_vcps")),
    )
    op.create_table(
        "clients",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("device", sa.String(length=63), nullable=False),
        sa.Column("kind", sa.String(length=2), nullable=False),
        sa.Column("mac", sa.String(length=17), nullable=True),
        sa.Column("client_id", sa.String(length=510), nullable=True),
        sa.CheckConstraint("kind IN ('md', 'vm')", name=op.f("ck_clients_kind")),
        sa.CheckConstraint("mac IS NOT NULL OR client_id IS NOT NULL", name=op.f("ck_clients_known")),
        sa.ForeignKeyConstraint(["device"], ["devices.name"], name=op.f("fk_clients_device")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_clients")),
        sa.UniqueConstraint("client_id", name=op.f("uq_clients_client_id")),
        sa.UniqueConstraint("device", "kind", name=op.f("uq_clients_device_kind")),
        sa.UniqueConstraint("mac", name=op.f("uq_clients_mac")),
    )
    op.create_table(
        "endpoints",
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("cloudlet", sa.String(length=63), nullable=False),
        sa.Column("site", sa.Integer(), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("prefix", sa.String(length=49), nullable=False),
        sa.Column("gateway", sa.String(length=45), nullable=False),
        sa.Column("ports", sa.JSON(), nullable=False),
        sa.Column("vni", sa.Integer(), nullable=True),
        sa.Column("mtu", sa.Integer(), nullable=False),
        sa.Column("lease_seconds", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.CheckConstraint('"index" BETWEEN 1 AND 255', name=op.f("ck_endpoints_index")),
        sa.CheckConstraint("site BETWEEN 1 AND 4095", name=op.f("ck_endpoints_site")),
        sa.CheckConstraint("vni BETWEEN 1 AND 16777215", name=op.f("ck_endpoints_vni")),
        sa.ForeignKeyConstraint(["cloudlet"], ["cloudlets.name"], name=op.f("fk_endpoints_cloudlet")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_endpoints")),
        sa.UniqueConstraint("cloudlet", "index", name=op.f("uq_endpoints_cloudlet_index")),
        sa.UniqueConstraint("cloudlet", "vni", name=op.f("uq_endpoints_cloudlet_vni")),
        sa.UniqueConstraint("site", name=op.f("uq_endpoints_site")),
    )
    op.create_table(
        "members",
        sa.Column("vcp", sa.String(length=63), nullable=False),
        sa.Column("endpoint", sa.String(length=63), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["endpoint"], ["endpoints.name"], name=op.f("fk_members_endpoint")),
        sa.ForeignKeyConstraint(["vcp"], ["vcps.name"], name=op.f("fk_members_vcp")),
        sa.PrimaryKeyConstraint("vcp", "endpoint", name=op.f("pk_members")),
    )
    with op.batch_alter_table("members", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_members_endpoint"), ["endpoint"], unique=False)

    op.create_table(
        "pairs",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("endpoint", sa.String(length=63), nullable=False),
        sa.Column("device", sa.String(length=63), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["device"], ["devices.name"], name=op.f("fk_pairs_device")),
        sa.ForeignKeyConstraint(["endpoint"], ["endpoints.name"], name=op.f("fk_pairs_endpoint")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pairs")),
        sa.UniqueConstraint("endpoint", "device", name=op.f("uq_pairs_endpoint_device")),
        sa.UniqueConstraint("endpoint", "number", name=op.f("uq_pairs_endpoint_number")),
    )
    with op.batch_alter_table("pairs", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_pairs_device"), ["device"], unique=False)

    op.create_table(
        "leases",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("pair", sa.BigInteger(), nullable=False),
        sa.Column("endpoint", sa.String(length=63), nullable=False),
        sa.Column("device", sa.String(length=63), nullable=False),
        sa.Column("kind", sa.String(length=2), nullable=False),
        sa.Column("address", sa.String(length=45), nullable=False),
        sa.Column("mac", sa.String(length=17), nullable=True),
        sa.Column("client_id", sa.String(length=510), nullable=True),
        sa.Column("hostname", sa.String(length=255), nullable=True),
        sa.Column("granted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.CheckConstraint("kind IN ('md', 'vm')", name=op.f("ck_leases_kind")),
        sa.ForeignKeyConstraint(["device"], ["devices.name"], name=op.f("fk_leases_device")),
        sa.ForeignKeyConstraint(["endpoint"], ["endpoints.name"], name=op.f("fk_leases_endpoint")),
        sa.ForeignKeyConstraint(["pair"], ["pairs.id"], name=op.f("fk_leases_pair")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_leases")),
        sa.UniqueConstraint("endpoint", "address", name=op.f("uq_leases_endpoint_address")),
        sa.UniqueConstraint("pair", "kind", name=op.f("uq_leases_pair_kind")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("leases", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_leases_device"), ["device"], unique=False)
        batch_op.create_index("ix_leases_expires_at", ["expires_at"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("leases", schema=None) as batch_op:
        batch_op.drop_index("ix_leases_expires_at")
        batch_op.drop_index(batch_op.f("ix_leases_device"))

    op.drop_table("leases")
    with op.batch_alter_table("pairs", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_pairs_device"))

    op.drop_table("pairs")
    with op.batch_alter_table("members", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_members_endpoint"))

    op.drop_table("members")
    op.drop_table("endpoints")
    op.drop_table("clients")
    op.drop_table("vcps")
    op.drop_table("route_servers")
    op.drop_table("policies")
    with op.batch_alter_table("idempotency", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_idempotency_at"))

    op.drop_table("idempotency")
    op.drop_table("generations")
    op.drop_table("events")
    op.drop_table("devices")
    op.drop_table("cloudlets")
