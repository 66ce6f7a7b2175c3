"""The images that agents store"""

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None

NAME = sa.String(63).with_variant(sa.String(63, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "stored_images",
        sa.Column("cloudlet", NAME, primary_key=True),
        sa.Column("image", NAME, primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("condition", sa.String(8), nullable=False),
        sa.Column("done", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger()),
        sa.Column("detail", sa.String(1000), nullable=False),
        sa.Column("port", sa.Integer()),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index(op.f("ix_stored_images_image"), "stored_images", ["image"])


def downgrade() -> None:
    """Loses stored_images: agents report them again, and an older release does not look at them."""
    op.drop_table("stored_images")
