"""Immutable mappings that share their common parts: an edit, and finding the differences after an edit, cost little
however much the region holds."""

from collections.abc import Hashable, ItemsView, Iterable, Iterator, Mapping, ValuesView
from itertools import chain, compress, repeat
from operator import is_not
from typing import TYPE_CHECKING, Generic, TypeVar
from zlib import crc32

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

SHARDS = 1024
"""The number of dicts in a map. An edit copies one of them and the list of all: with 100,000 entries that is 100 and
1,024 references."""

_NONE: dict[object, object] = {}
_ABSENT = object()


class PersistentMap(Mapping[K, V]):
    """A mapping; `plus` and `minus` return another one. A checksum of the key selects its dict, so that the order of
    iteration is the same in every process."""

    __slots__ = ("_shards", "_size")

    def __init__(self, entries: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        shards: list[dict[K, V]] = [_NONE] * SHARDS  # type: ignore[list-item]  # an empty dict fits any
        for key, value in entries.items() if isinstance(entries, Mapping) else entries:
            slot = _slot(key)
            if shards[slot] is _NONE:
                shards[slot] = {}
            shards[slot][key] = value
        self._shards = shards
        self._size = sum(map(len, shards))

    @classmethod
    def of(cls, mapping: Mapping[K, V]) -> "PersistentMap[K, V]":
        """Return the mapping as a persistent map: itself, if it is one."""
        return mapping if isinstance(mapping, cls) else cls(mapping)

    def __getitem__(self, key: K) -> V:
        return self._shards[_slot(key)][key]

    if not TYPE_CHECKING:  # its type is that of Mapping, which uses exceptions

        def get(self, key, default=None):
            """Return the value of the key or the default, as a dict does."""
            return self._shards[_slot(key)].get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._shards[_slot(key)]

    def __iter__(self) -> Iterator[K]:
        return chain.from_iterable(self._shards)

    def __len__(self) -> int:
        return self._size

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PersistentMap):
            return self._size == other._size and all(a is b or a == b for a, b in _pairs(self, other))
        return dict(self) == other if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as a dict

    def __repr__(self) -> str:
        return f"PersistentMap({dict(self.items())!r})"

    def items(self) -> ItemsView[K, V]:
        """Return the items, as a dict does."""
        return _Items(self)

    def values(self) -> ValuesView[V]:
        """Return the values, as a dict does."""
        return _Values(self)

    def plus(self, key: K, value: V) -> "PersistentMap[K, V]":
        """Return the map with this value for the key."""
        return self.updated({key: value})

    def minus(self, key: K) -> "PersistentMap[K, V]":
        """Return the map without the key, which may be missing."""
        return self.updated({}, (key,))

    def updated(self, more: Mapping[K, V], gone: Iterable[K] = ()) -> "PersistentMap[K, V]":
        """Return the map with these entries, and without those keys."""
        shards, size, own = list(self._shards), self._size, set[int]()
        for key, value in chain(((key, _ABSENT) for key in gone), more.items()):
            slot = _slot(key)
            if slot not in own:
                own.add(slot)
                shards[slot] = dict(shards[slot])
            size -= len(shards[slot])
            if value is _ABSENT:
                shards[slot].pop(key, None)
            else:
                shards[slot][key] = value  # type: ignore[assignment]  # not the mark of absence
            size += len(shards[slot])
        other: PersistentMap[K, V] = PersistentMap.__new__(PersistentMap)
        other._shards, other._size = shards, size
        return other


class _Items(ItemsView[K, V], Generic[K, V]):
    _mapping: PersistentMap[K, V]

    def __iter__(self) -> Iterator[tuple[K, V]]:
        return chain.from_iterable(map(dict.items, self._mapping._shards))


class _Values(ValuesView[V], Generic[V]):
    _mapping: PersistentMap[Hashable, V]

    def __iter__(self) -> Iterator[V]:
        return chain.from_iterable(map(dict.values, self._mapping._shards))


def changed(old: Mapping[K, V], new: Mapping[K, V]) -> list[K]:
    """Return the keys whose value is another object, or that are in only one of the two. The cost is proportional to
    the edits between the two, if both come from one map."""
    found: list[K] = []
    for before, after in _pairs(PersistentMap.of(old), PersistentMap.of(new)):
        found += compress(after, map(is_not, after.values(), map(before.get, after, repeat(_ABSENT))))
        found += before.keys() - after.keys()
    return found


def _pairs(old: PersistentMap[K, V], new: PersistentMap[K, V]) -> Iterator[tuple[dict[K, V], dict[K, V]]]:
    """Yield the pairs of shards that are not the same object, and so may differ."""
    return compress(zip(old._shards, new._shards, strict=True), map(is_not, old._shards, new._shards))


def _slot(key: object) -> int:
    return (crc32(key.encode()) if isinstance(key, str) else hash(key)) % SHARDS
