"""Measurements that a command adds to, run after run: a JSON file with a line for each, and their page."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

MARK = "<!-- measured -->"
"""The line of a page after which all is replaced."""


class Measurement(Protocol):
    """A dataclass of plain values."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


M = TypeVar("M", bound=Measurement)


def kept(kind: type[M], output: Path) -> list[M]:
    """Return the measurements of earlier runs."""
    return [kind(**one) for one in json.loads(output.read_text())] if output.exists() else []


def keep(found: Sequence[Measurement], output: Path) -> None:
    """Write all measurements, a line each."""
    rows = ",\n".join(json.dumps(asdict(one)) for one in found)
    output.write_text(f"[\n{rows}\n]\n")


def show(tables: str, page: Path) -> None:
    """Replace the page's tables, which are all that follows its mark."""
    head = page.read_text().partition(MARK)[0]
    page.write_text(f"{head}{MARK}\n{tables}")
