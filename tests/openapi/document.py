"""The description of the API: the present one, the committed one, and that of an earlier commit."""

import json
import subprocess
from typing import Any

from controller.server.app import create_app
from controller.settings import Settings
from tests.house.imports import ROOT

NAME = "docs/reference/openapi.json"
COMMITTED = ROOT / NAME

Json = dict[str, Any]


def present() -> Json:
    """Return the description that the controller serves."""
    return create_app(Settings()).openapi()


def text(document: Json) -> str:
    """Return a description as it is committed: sorted, so that code can move without a change of it."""
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def at(revision: str) -> Json | None:
    """Return the description of an earlier commit; None if that has none. Raises ValueError for an unknown revision."""
    if _git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}") is None:
        raise ValueError(f"{revision!r} is not a commit")
    found = _git("show", f"{revision}:{NAME}")
    return None if found is None else json.loads(found)


def _git(*words: str) -> str | None:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None
