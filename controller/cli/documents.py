"""Documents for programs: answers as JSON or YAML, one by one or in a stream."""

import json
import re

from controller.cli.session import Output, session

CONTROLS = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters that `json.dumps` does not escape: C1, and those that change the direction of text."""


def emit(value: object) -> None:
    """Print a document; characters that a terminal would obey are escaped in the form's own way."""
    print(_yaml(value) if session.output is Output.YAML else _json(value, 2))


def stream(value: object) -> None:
    """Print the next document of a stream at once: a line of JSON, or YAML after a line of hyphens."""
    print(f"---\n{_yaml(value)}" if session.output is Output.YAML else _json(value, None), flush=True)


def _json(value: object, indent: int | None) -> str:
    return CONTROLS.sub(_escaped, json.dumps(value, indent=indent, ensure_ascii=False))


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _yaml(value: object) -> str:
    import yaml  # loading it takes time

    value = json.loads(json.dumps(value))  # enumerations are their texts
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1 << 16)
    if CONTROLS.search(text):
        text = yaml.safe_dump(value, sort_keys=False, allow_unicode=False, width=1 << 16)
    return text.rstrip("\n")
