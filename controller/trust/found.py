"""Finds the authority that issues certificates: the controller's own, or one from an entry point of the group
`weft.authorities`."""

import logging
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from controller.settings import BUILT_IN, BadSettings
from controller.trust.authority import Authority
from controller.trust.builtin import BuiltIn

log = logging.getLogger(__name__)

GROUP = "weft.authorities"


def read(kind: str, path: Path, points: Iterable[EntryPoint] | None = None) -> Authority:
    """Return the authority of this kind. The object that an entry point names is called with the path of
    `WEFT_AUTHORITY`, where its keys are, or the address of the service that has them. Raises BadSettings if the entry
    point raises anything."""
    if kind == BUILT_IN:
        return BuiltIn.read(path)
    known = {point.name: point for point in (entry_points(group=GROUP) if points is None else points)}
    if kind not in known:
        there = ", ".join(sorted({BUILT_IN, *known}))
        raise BadSettings(f"WEFT_AUTHORITY_KIND: there is no kind of authority {kind!r}; there is {there}")
    try:
        authority: Authority = known[kind].load()(path)
    except BadSettings:
        raise
    except Exception as error:
        log.debug("the authority %s cannot be loaded", kind, exc_info=True)
        why = f"{type(error).__name__}: {error}"
        raise BadSettings(f"WEFT_AUTHORITY_KIND: the authority {kind!r} cannot be loaded: {why}") from error
    return authority
