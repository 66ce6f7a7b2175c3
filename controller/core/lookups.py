"""The lookup tables of an intent by other keys than names, and how each follows an edit without being computed anew.

Every function takes its previous result and the edits since: pairs of an object before and after, None where it did not
exist or does not any more."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from controller.core.objects import AnnouncePermit, Cloudlet, Endpoint, Vcp
from controller.core.occupied import Lans, Vteps
from controller.core.persistent_map import PersistentMap
from controller.core.proximity.grid import Grid
from controller.core.sites import Sites

V = TypeVar("V")
Edits = Iterable[tuple[V | None, V | None]]

_NOBODY: frozenset[str] = frozenset()


def new(mapping: Mapping[str, V]) -> Edits[V]:
    """Return all of a mapping as edits, as if nothing had been there before."""
    return ((None, value) for value in mapping.values())


def pools_of(known: PersistentMap[str, frozenset[str]], edits: Edits[Vcp]) -> PersistentMap[str, frozenset[str]]:
    """Return endpoint name → names of its VCPs."""
    found: dict[str, frozenset[str]] = {}
    for before, after in edits:
        was, now = before.members if before else _NOBODY, after.members if after else _NOBODY
        name = frozenset(vcp.name for vcp in (before, after) if vcp)
        for member in was ^ now if was is not now else ():
            found[member] = found.get(member, known.get(member, _NOBODY)) ^ name
    return known.updated({m: pools for m, pools in found.items() if pools}, [m for m in found if not found[m]])


def endpoints_of(
    known: PersistentMap[str, tuple[Endpoint, ...]], edits: Edits[Endpoint]
) -> PersistentMap[str, tuple[Endpoint, ...]]:
    """Return cloudlet name → its endpoints by index."""
    found: dict[str, list[Endpoint]] = {}
    for before, after in edits:
        if before:
            found.setdefault(before.cloudlet, list(known.get(before.cloudlet, ()))).remove(before)
        if after:
            found.setdefault(after.cloudlet, list(known.get(after.cloudlet, ()))).append(after)
    left = {name: tuple(sorted(mine, key=lambda e: e.index)) for name, mine in found.items() if mine}
    return known.updated(left, found.keys() - left.keys())


def credentials(known: PersistentMap[str, str], edits: Edits[Cloudlet]) -> PersistentMap[str, str]:
    """Return credential digest → cloudlet name."""
    gone: set[str] = set()
    more: dict[str, str] = {}
    for before, after in edits:
        if before and before.credential:
            gone.add(before.credential)
        if after and after.credential:
            more[after.credential] = after.name
    return known.updated(more, gone - more.keys())


def revoked(known: PersistentMap[str, str], edits: Edits[Cloudlet]) -> PersistentMap[str, str]:
    """Return the cloudlets whose credentials were revoked, by their names."""
    gone: set[str] = set()
    more: dict[str, str] = {}
    for before, after in edits:
        if before and before.revoked:
            gone.add(before.name)
        if after and after.revoked:
            more[after.name] = after.name
    return known.updated(more, gone - more.keys()) if gone or more else known


def places(known: Grid, edits: Edits[Cloudlet]) -> Grid:
    """Return the positions of cloudlets."""
    return known.but(
        (name, before.place if before else None, after.place if after else None)
        for before, after in edits
        for name in {c.name for c in (before, after) if c}
    )


def vteps(known: Vteps, edits: Edits[Cloudlet]) -> Vteps:
    """Return the owners of VTEPs."""
    gone: dict[str, str] = {}
    more: dict[str, str] = {}
    for before, after in edits:
        if before and after and before.vtep == after.vtep:
            continue
        gone |= {before.vtep: before.name} if before else {}
        more |= {after.vtep: after.name} if after else {}
    return known.but(gone, more) if gone or more else known


def lans(known: Lans, edits: Edits[Endpoint]) -> Lans:
    """Return the LANs and their owners."""
    gone: dict[str, str] = {}
    more: dict[str, str] = {}
    for before, after in edits:
        gone |= {before.name: before.prefix} if before else {}
        more |= {after.name: after.prefix} if after else {}
    return known.but(gone, more)


def sites(known: Sites, edits: Edits[Endpoint]) -> Sites:
    """Return the site numbers that are taken."""
    gone: set[int] = set()
    more: dict[int, str] = {}
    for before, after in edits:
        gone |= {before.site} if before else set()
        more |= {after.site: after.name} if after else {}
    return known.but(gone - more.keys(), more)


def permits_of(
    known: PersistentMap[str, tuple[AnnouncePermit, ...]], edits: Edits[AnnouncePermit]
) -> PersistentMap[str, tuple[AnnouncePermit, ...]]:
    """Return endpoint name → the VMs that may be announced from there, by name."""
    found: dict[str, dict[str, AnnouncePermit]] = {}
    for before, after in edits:
        for endpoint in (before.endpoints if before else _NOBODY) | (after.endpoints if after else _NOBODY):
            mine = found.setdefault(endpoint, {permit.name: permit for permit in known.get(endpoint, ())})
            if before:
                mine.pop(before.name, None)
            if after and endpoint in after.endpoints:
                mine[after.name] = after
    left = {name: tuple(mine[vm] for vm in sorted(mine)) for name, mine in found.items() if mine}
    return known.updated(left, found.keys() - left.keys())


LOOKUPS: Mapping[str, Mapping[str, Callable[[Any, Any], Any]]] = {
    "cloudlets": {"credentials": credentials, "revoked": revoked, "places": places, "vteps": vteps},
    "endpoints": {"endpoints_of": endpoints_of, "lans": lans, "sites": sites},
    "vcps": {"pools_of": pools_of},
    "permits": {"permits_of": permits_of},
}
"""Mapping of the intent → the lookup tables that follow from it."""
