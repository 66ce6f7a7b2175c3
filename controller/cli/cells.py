"""Cells of tables, by how they are laid out: folded between words, folded between items, coloured."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Self

from controller.wire.logs import visible

Row = dict[str, Any]
Get = Callable[[Row], object]
NOTHING = "-"


class Tone(StrEnum):
    """The colour of a state."""

    GOOD = "good"
    WARNING = "warning"
    ALARM = "alarm"


class Prose(str):
    """A readable text, which may be folded between words."""

    __slots__ = ()


class Items(str):
    """Several values with commas, which may be folded between them."""

    __slots__ = ()


class Title(str):
    """The name of a column."""

    __slots__ = ()


class StateWord(str):
    """A state or a sign as one word; `tone` is None for a neutral one."""

    tone: Tone | None

    def __new__(cls, text: str, tone: Tone | None = None) -> Self:
        made = super().__new__(cls, text)
        made.tone = tone
        return made


TONES = (
    dict.fromkeys(("✓", "+", "yes", "up", "active", "good", "given", "running", "established", "monitoring"), Tone.GOOD)
    | dict.fromkeys(("in force", "confirmed", "done", "passed", "possible", "there"), Tone.GOOD)
    | dict.fromkeys(("~", "!", "connecting", "waiting", "copying", "invited", "pending", "draining"), Tone.WARNING)
    | dict.fromkeys(("on-trial", "not yet", "stale", "starting", "stopping", "paused", "moving"), Tone.WARNING)
    | dict.fromkeys(("undoing", "suspected", "unknown", "given up", "coming"), Tone.WARNING)
    | dict.fromkeys(("✗", "-", "no", "down", "revoked", "expired", "withdrawn", "rolled-back", "failed"), Tone.ALARM)
    | dict.fromkeys(("wrong", "refused", "undone", "stopped", "gone", "unresponsive", "poison"), Tone.ALARM)
)
"""Signs (of checks and of diffs), and states of all nouns."""


def plain(value: object) -> str:
    """Return a value as a cell: `-` for nothing, lists with commas, and no control characters (names and texts come
    from elsewhere, and a terminal obeys some of these characters). The cell keeps its type, and so its layout."""
    match value:
        case None | "" | []:
            return NOTHING
        case bool():
            return "yes" if value else "no"
        case list() | tuple() | set() | frozenset():
            return Items(", ".join(map(plain, value)))
        case dict():
            return Items(", ".join(f"{key}={plain(value[key])}" for key in value) or NOTHING)
        case StateWord():
            return StateWord(visible(value), value.tone)
        case Prose() | Items():
            return type(value)(visible(value))
    return visible(str(value))


def toned(text: str) -> StateWord:
    """Return a state or a sign in its colour: ✓ ✗ · for checks, + - ~ for differences, ! for warnings."""
    return StateWord(text, TONES.get(text))


def at(*keys: str) -> Get:
    """Return a function that gets the value below `keys`, None if there is none."""

    def get(row: Row) -> object:
        value: Any = row
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    return get


def prose(*keys: str) -> Get:
    """Return a function that gets the readable text below `keys`."""
    get = at(*keys)
    return lambda row: None if get(row) is None else Prose(get(row))


def state(*keys: str) -> Get:
    """Return a function that gets the state below `keys`, in its colour; also for a condition that should hold (`yes`)
    and does not (`no`)."""
    get = at(*keys)

    def coloured(row: Row) -> object:
        value = get(row)
        return value if value is None else toned(plain(value))

    return coloured
