"""The changes of a JSON schema that break clients. They depend on the side: a request that was accepted must still be,
and an answer may only be what clients know."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tests.openapi.alternatives import ANY, Alternative, alternatives

Json = dict[str, Any]

LEAST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")


class Side(Enum):
    """Where a schema is: in requests, or in answers."""

    REQUEST = "request"
    ANSWER = "answer"


@dataclass(frozen=True)
class Breakage:
    """A change that breaks clients: the field, by its path in the document (empty: the document), and the change."""

    field: str
    text: str

    def below(self, outer: str) -> "Breakage":
        """Return the same in an outer document."""
        return Breakage(outer + ("" if not self.field or self.field[0] == "[" else ".") + self.field, self.text)

    def __str__(self) -> str:
        return f"{self.field}: {self.text}" if self.field else self.text


@dataclass
class Schemas:
    """The components of two descriptions. Objects are compared once, as models may contain themselves."""

    before: Json
    after: Json
    _compared: dict[tuple[int, int, Side], list[Breakage]] = field(default_factory=dict)

    def broken(self, before: Json | bool, after: Json | bool, side: Side) -> list[Breakage]:
        """Return each change from `before` to `after` that breaks clients."""
        was, now = alternatives(before, self.before), alternatives(after, self.after)
        # Each value of `sent` must be one that the other side reads.
        sent, read = (was, now) if side is Side.REQUEST else (now, was)
        if any(other.type == ANY for other in read):
            return []
        found: list[Breakage] = []
        for one in sent:
            others = [other for other in read if other.type == one.type or _within(one.type, other.type)]
            pairs = [list(self._between(one, other, side)) for other in others]
            least: list[Breakage] = min(pairs, key=len, default=[_other_type(one.type, read, side)])
            found += least
        return found

    def _between(self, sent: Alternative, read: Alternative, side: Side) -> Iterator[Breakage]:
        yield from (Breakage("", text) for text in (*_values(sent, read, side), *_form(sent.schema, read.schema, side)))
        was, now = (sent.schema, read.schema) if side is Side.REQUEST else (read.schema, sent.schema)
        if sent.type == "array":
            for first, second in _items(was, now):
                yield from (one.below("[]") for one in self.broken(first, second, side))
        if sent.type == "object":
            pair = (id(was), id(now), side)
            if pair not in self._compared:
                self._compared[pair] = []
                self._compared[pair] = list(self._fields(was, now, side))
            yield from self._compared[pair]

    def _fields(self, before: Json, after: Json, side: Side) -> Iterator[Breakage]:
        was, now = before.get("properties", {}), after.get("properties", {})
        for name, schema in was.items():
            if name in now:
                yield from (one.below(name) for one in self.broken(schema, now[name], side))
            else:
                yield Breakage(name, "is removed")
        needed, always = set(before.get("required", ())), set(after.get("required", ()))
        if side is Side.REQUEST:
            yield from (Breakage(name, "is required now") for name in sorted(always - needed))
        else:
            yield from (Breakage(name, "may be absent now") for name in sorted((needed - always) & now.keys()))
        yield from self._further(before, after, side)

    def _further(self, before: Json, after: Json, side: Side) -> Iterator[Breakage]:
        """Yield the changes of fields that have no name in the schema."""
        was, now = before.get("additionalProperties", True), after.get("additionalProperties", True)
        if now is not False and was is not False:
            yield from (one.below("*") for one in self.broken(was, now, side))
        elif now is False and was is not False and side is Side.REQUEST:
            yield Breakage("*", "further fields are not accepted any more")


def _items(before: Json, after: Json) -> Iterator[tuple[Json, Json]]:
    """Yield the pairs of schemas of two arrays: one for all items, or one for each place."""
    was, now = (schema.get("prefixItems") or [schema.get("items", {})] for schema in (before, after))
    yield from zip(was, now, strict=False)


def _within(one: str, other: str) -> bool:
    return (one, other) == ("integer", "number")


def _other_type(name: str, others: list[Alternative], side: Side) -> Breakage:
    known = " or ".join(sorted({other.type for other in others})) or "nothing"
    if side is Side.REQUEST:
        return Breakage("", f"{name} is not accepted any more, only {known}")
    return Breakage("", f"may be {name} now, not only {known}")


def _values(sent: Alternative, read: Alternative, side: Side) -> Iterator[str]:
    """Yield the values that one side sends and the other does not know."""
    if read.values is None:
        return
    if sent.values is None:
        known = ", ".join(sorted(read.values))
        yield f"only {known} are accepted now" if side is Side.REQUEST else f"may be any value now, not only {known}"
        return
    for value in sorted(sent.values - read.values):
        yield f"{value} is not accepted any more" if side is Side.REQUEST else f"may be {value} now"


def _form(sent: Json, read: Json, side: Side) -> Iterator[str]:
    """Yield differences in format, and tighter limits of requests."""
    if read.get("format") not in (None, sent.get("format")):
        was, now = (sent, read) if side is Side.REQUEST else (read, sent)
        yield f"the format was {was.get('format')}, and is {now.get('format')}"
    if side is Side.ANSWER:
        return
    if read.get("pattern") not in (None, sent.get("pattern")):
        yield f"the pattern is {read['pattern']} now"
    for names, tighter in ((LEAST, 1), (MOST, -1)):
        for name in names:
            if name in read and (name not in sent or (read[name] - sent[name]) * tighter > 0):
                yield f"{name} is {read[name]} now"
