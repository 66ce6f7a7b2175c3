"""The differences between two intents, before and after a change, for the audit log. Pure."""

from dataclasses import fields
from typing import Any

from controller.core.intent import Intent
from controller.core.persistent_map import changed

KINDS = {"cloudlets": "cloudlets", "endpoints": "endpoints", "vcps": "vcps", "berths": "permits"}
"""Kind, under its fixed name in the audit log → the intent's mapping."""
UNTOLD = ("name", "credential", "key", "version")
"""Fields that are left out: the name is the key, and digests and a counter are of no use to a reader."""

MOST = 100
"""The most things of a kind that are listed; of more, only their number is."""

Told = dict[str, Any]


def differing(old: Intent, new: Intent) -> tuple[Told, Told]:
    """Return the values before and after, by kind and name: null for a thing that is not there; of sets, such as a
    pool's members, those removed and those added."""
    before, after = (
        {"generation": intent.generation} if old.generation != new.generation else {} for intent in (old, new)
    )
    told: tuple[Told, Told] = (dict(before), dict(after))
    for kind, mapping in KINDS.items():
        was, now = getattr(old, mapping), getattr(new, mapping)
        names = sorted(changed(was, now))
        for name in names[:MOST]:
            for side, said in zip(told, _both(was.get(name), now.get(name)), strict=True):
                if said != {}:
                    side.setdefault(kind, {})[name] = said
        if len(names) > MOST:
            for side in told:
                side.setdefault(kind, {})["…"] = f"{len(names) - MOST} more"
    return told


def _both(was: Any, now: Any) -> tuple[Told | None, Told | None]:
    """Return only the differing fields of two versions."""
    one, other = _document(was), _document(now)
    if one is None or other is None:
        return _plain(one), _plain(other)
    names = [name for name in one if one[name] != other[name]]
    before, after = {name: one[name] for name in names}, {name: other[name] for name in names}
    for name in names:
        if isinstance(one[name], frozenset):
            before[name], after[name] = one[name] - other[name], other[name] - one[name]
    return _plain(before), _plain(after)


def _document(thing: Any) -> Told | None:
    return None if thing is None else {f.name: getattr(thing, f.name) for f in fields(thing) if f.name not in UNTOLD}


def _plain(document: Told | None) -> Told | None:
    if document is None:
        return None
    return {k: sorted(v) if isinstance(v, frozenset) else v for k, v in document.items()}
