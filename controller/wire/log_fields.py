"""Fields of log lines: the request, cloudlet, change or move that the code is at work for. Lines of text leave them
out, because their sentences name these things; objects have them for programs that search (`log_objects.py`)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

Fields = Mapping[str, str | int]

_FIELDS: ContextVar[dict[str, str | int] | None] = ContextVar("log_fields", default=None)


@contextmanager
def about(**fields: str | int) -> Iterator[None]:
    """Give all lines of this block these fields, besides those of the blocks around it. A task that the block creates
    keeps them."""
    token = _FIELDS.set({**(_FIELDS.get() or {}), **fields})
    try:
        yield
    finally:
        _FIELDS.reset(token)


def note(**fields: str | int) -> None:
    """Give the further lines of the innermost block these fields as well; nothing happens outside of one."""
    if (present := _FIELDS.get()) is not None:
        present.update(fields)


def fields() -> Fields:
    """Return the fields of a line that is written now."""
    return _FIELDS.get() or {}
