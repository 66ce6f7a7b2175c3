"""The file of a database."""

from pathlib import Path

from sqlalchemy import make_url


def database_file(url: str) -> Path | None:
    """Return the file of an SQLite database; None for a database on a server."""
    parsed = make_url(url)
    return Path(parsed.database) if parsed.get_backend_name() == "sqlite" and parsed.database else None
