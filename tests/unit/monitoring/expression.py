"""The metrics and labels in an expression of PromQL."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

WORDS = frozenset(("and", "or", "unless", "bool", "offset"))
"""Words that are neither metrics nor functions."""

_TEXT = r'"(?:[^"\\]|\\.)*"'
_MATCHERS = re.compile(rf"([A-Za-z_:][\w:]*)\{{((?:[^{{}}\"]|{_TEXT})*)\}}")
_MATCHER = re.compile(rf"(\w+)\s*(?:=~|!~|!=|=)\s*{_TEXT}")
_CLAUSE = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_NAME = re.compile(r"(?<![\w:.])([A-Za-z_:][\w:]*)(?!\s*\()(?![\w:])")


@dataclass(frozen=True)
class Uses:
    """The labels that an expression matches, by metric, and those that it groups or joins by."""

    matched: Mapping[str, frozenset[str]]
    grouped: frozenset[str]


def uses(expression: str) -> Uses:
    """Return what an expression uses. Ranges and variables of dashboards do not matter."""
    rest = re.sub(r"\[[^\]]*\]", "", expression)
    matched: dict[str, frozenset[str]] = {}
    for name, matchers in _MATCHERS.findall(rest):
        matched[name] = matched.get(name, frozenset()) | frozenset(_MATCHER.findall(matchers))
    rest = _MATCHERS.sub(r"\1", rest)
    grouped = {label.strip() for clause in _CLAUSE.findall(rest) for label in clause.split(",") if label.strip()}
    rest = re.sub(_TEXT, "", _CLAUSE.sub("", rest))
    for name in _NAME.findall(rest):
        if name not in WORDS:
            matched.setdefault(name, frozenset())
    return Uses(matched, frozenset(grouped))
