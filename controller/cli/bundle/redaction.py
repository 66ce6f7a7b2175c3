"""Keeps of an answer the fields that a bundle may have, and of texts the words that are known to be no secrets.
Pure."""

import re
from collections.abc import Collection, Iterator
from typing import Any

from controller.cli.bundle.words import HIDDEN, Words, vocabulary

METRICS = ("weft_", "process_", "python_info")
"""How the names of metrics begin that a bundle may have."""

LABELS = (
    *("direction", "how", "implementation", "le", "major", "medium", "method", "minor", "name", "outcome"),
    *("patchlevel", "route", "state", "status", "version", "worth"),
)
"""The labels of metrics that a bundle may have."""

FREE = ("data",)
"""Fields whose own fields have many names, as every kind of event has its own: these may be any word of Weft's."""

_VALUE = r"-?[0-9.]{1,30}(?:e[+-]?[0-9]{1,3})?|[+-]Inf|NaN"
_SAMPLE = re.compile(rf"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{{(.*)\}})? ({_VALUE})", re.ASCII)
_LABEL = re.compile(r'(?:^|,)([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')


class Redaction:
    """A redaction by one set of words. `left_out` counts the fields and lines that are not in the bundle."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self.left_out = 0

    def of(self, value: Any, fields: Collection[str]) -> Any:
        """Return JSON with only these fields, at any depth, and those that are called like a thing of the region."""
        if isinstance(value, dict):
            return dict(self._kept(value, fields))
        if isinstance(value, list):
            return [self.of(item, fields) for item in value]
        if isinstance(value, str):
            return self._words.text(value)
        return value if value is None or isinstance(value, bool | int | float) else None

    def _kept(self, value: dict[Any, Any], fields: Collection[str]) -> Iterator[tuple[str, Any]]:
        for key, inner in value.items():
            if key == "asn" and isinstance(inner, int) and key in fields:
                yield key, self._words.asn(inner)
            elif key in fields:
                yield key, self.of(inner, vocabulary() if key in FREE else fields)
            elif isinstance(key, str) and (name := self._words.name(key)) is not None:
                yield name, self.of(inner, fields)
            else:
                self.left_out += 1

    def of_policy(self, text: str) -> str:
        """Return the text of a policy without its comments."""
        lines = (re.split(r"(?:^|\s)#", line, maxsplit=1)[0].rstrip() for line in text.splitlines())
        return "".join(f"{self._words.text(line)}\n" for line in lines if line)

    def of_metrics(self, text: str) -> str:
        """Return the samples of metrics in Prometheus' format."""
        return "".join(f"{sample}\n" for line in text.splitlines() if (sample := self._sample(line)))

    def _sample(self, line: str) -> str | None:
        if not line or line.startswith("#"):
            return None
        found = _SAMPLE.fullmatch(line)
        if found is None or not found[1].startswith(METRICS) or HIDDEN in self._words.text(found[1]):
            self.left_out += 1
            return None
        labels = [
            f'{name}="{self._words.text(value)}"' for name, value in _LABEL.findall(found[2] or "") if name in LABELS
        ]
        return f"{found[1]}{'{' + ','.join(labels) + '}' if labels else ''} {found[3]}"
