"""Secrets of the lab in files."""

import os
import secrets
from pathlib import Path


def secret(path: Path, value: str | None = None) -> None:
    """Write a secret (a new random one unless given) that only root may read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write((value or secrets.token_urlsafe(32)) + "\n")
