"""The reference of all events, from their catalogue."""

from collections.abc import Iterator, Mapping

from controller.core.event_types import GROUPS, EventType
from deploy.reference.markdown import code, table

_HEAD = ("type", "when", "subject", "caused by", "data")

_INTRO = """# Events

Every type of event that the controller records: `weft event list --type TYPE`, `GET /api/v1/events`. An event has an
`id` that grows, the time `at`, a `type`, a `subject`, a sentence `text`, `data` for programs, and the `source` if it
has one outside the controller ([limits](../operate/limits.md)). Data beyond its limit has the key `cut`.

{made}
"""


def events(made: str) -> str:
    """Return the page."""
    parts = [_INTRO.format(made=made).strip()]
    for title, types in GROUPS.items():
        parts += [f"## {title}", table(_HEAD, _rows(types))]
    return "\n\n".join(parts) + "\n"


def _rows(types: Mapping[str, EventType]) -> Iterator[tuple[str, str, str, str, str]]:
    for name, one in types.items():
        yield code(name), one.when, one.about, one.by, ", ".join(map(code, one.data))
