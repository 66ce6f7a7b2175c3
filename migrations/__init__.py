"""The history of the database (Alembic)."""
