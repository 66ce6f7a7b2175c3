"""What is different between two intents, before and after: for those who want to know what a change did. Pure."""

from dataclasses import fields
from typing import Any

from controller.core.intent import Intent
from controller.core.persistent_map import changed

KINDS = {"cloudlets": "cloudlets", "endpoints": "endpoints", "vcps": "vcps", "berths": "permits"}
"""Kind, as the audit log has always called it → the intent's mapping."""
UNTOLD = ("name", "credential", "key", "version")
"""The name says which it is; digests and a counter tell nobody anything."""

MOST = 100
"""Things of a kind that are told; of more, only how many there are."""

Told = dict[str, Any]


def differing(old: Intent, new: Intent) -> tuple[Told, Told]:
    """By kind and name, what was and what is: null where it was not there, or is not any more; of sets, as a pool's
    members, those who have gone, and those who have come."""
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
    """Of two versions only what differs."""
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
