"""The choice of a VM's CPU, and the CPU that was settled when the VM was started"""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("vms", sa.Column("cpu", sa.String(400), nullable=False, server_default="policy"))
    op.add_column("vms", sa.Column("cpu_settled", sa.String(400), nullable=True))


def downgrade() -> None:
    """Loses cpu and cpu_settled of vms: every VM gets its driver's own CPU when it is started next."""
    op.execute("ALTER TABLE vms DROP COLUMN cpu_settled")
    op.execute("ALTER TABLE vms DROP COLUMN cpu")
