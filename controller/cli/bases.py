"""What operators' policy files are based on: the policy that was in force when a file was last planned or applied from
here, and the mark of that plan. Kept below XDG_STATE_HOME, so that an operator who is slower than another is told."""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from controller.cli.state import state_file

MOST = 200
"""Files that are remembered; of more, those not seen for longest are forgotten."""


@dataclass(frozen=True)
class Base:
    """The entity tag of the policy that was in force; and what was planned then, of which text, if anything was.
    `counted`: whether endpoints without a consent were counted in it as consented to; None where there were none."""

    etag: str
    planned: str = ""
    digest: str = ""
    counted: bool | None = None

    def plan_of(self, text: str) -> str | None:
        """The mark of the plan of exactly this text."""
        return self.planned if self.planned and self.digest == digest(text) else None


def digest(text: str) -> str:
    """What tells texts apart."""
    return hashlib.sha256(text.encode()).hexdigest()


def recall(url: str, file: str) -> Base | None:
    """What the file is based on, as far as that is known here."""
    try:
        return Base(**_read()[_key(url, file)])
    except (KeyError, TypeError):
        return None


def remember(url: str, file: str, base: Base | None) -> None:
    """Keeps it, or forgets it. Where it cannot be kept, nothing is remembered."""
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
