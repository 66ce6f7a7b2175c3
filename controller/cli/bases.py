"""The bases of operators' policy and inventory files: for each file, the text in force when it was last planned or
applied from here, and the mark of that plan. They are kept below XDG_STATE_HOME, so that `weft` can tell an operator
that another one was faster."""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from controller.cli.state import state_file

MOST = 200
"""Maximum number of files that are remembered; those not used for longest are forgotten first."""


@dataclass(frozen=True)
class Base:
    """The base of a file: the entity tag of the text in force, and the mark of the last plan, if any, with the digest
    of its text. `counted`: whether the plan counted endpoints without a consent as consented; None if there were
    none."""

    etag: str
    planned: str = ""
    digest: str = ""
    counted: bool | None = None

    def plan_of(self, text: str) -> str | None:
        """Return the mark of the plan of exactly this text, or None."""
        return self.planned if self.planned and self.digest == digest(text) else None


def digest(text: str) -> str:
    """Return a digest that identifies a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def recall(url: str, file: str) -> Base | None:
    """Return the base of a file, or None if it is not known here."""
    try:
        return Base(**_read()[_key(url, file)])
    except (KeyError, TypeError):
        return None


def remember(url: str, file: str, base: Base | None) -> None:
    """Store the base of a file, or forget it with None. Ignores a file system that cannot store it."""
    if file == "-":
        return
    kept = {key: value for key, value in _read().items() if key != _key(url, file)}
    if base is not None:
        kept[_key(url, file)] = asdict(base)
    path = _path()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(dict(list(kept.items())[-MOST:])))
        part.replace(path)


def _path() -> Path:
    return state_file("policies.json")


def _key(url: str, file: str) -> str:
    return f"{url} {Path(file).resolve()}"


def _read() -> dict[str, Any]:
    try:
        kept = json.loads(_path().read_text())
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}
