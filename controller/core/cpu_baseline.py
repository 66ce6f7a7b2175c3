"""The CPU that guests can see at every one of several cloudlets, from the reports of their agents. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from controller.wire.platforms import Platform

MOST_REMOVED = 8
"""A model that lacks more of its features than this is not used: guests also look at a CPU's name."""

Kind = tuple[str, str, str]
"""Accelerator, machine type, vendor. A VM never moves between cloudlets of different kinds, whatever its CPU."""


@dataclass(frozen=True)
class Hold:
    """Cloudlets with the same models that lower the baseline: without them the others would have the better `cpu`."""

    members: tuple[str, ...]
    cpu: str


@dataclass(frozen=True)
class Baseline:
    """A CPU that all of `members` can give guests, or None; `features` is the number of its features."""

    kind: Kind
    members: tuple[str, ...]
    cpu: str | None
    features: int = 0
    held_down: tuple[Hold, ...] = ()


def kind(platform: Platform) -> Kind:
    """Return the kind of cloudlet to which a platform belongs. Each kind has a baseline."""
    return platform.accelerator, platform.board, platform.vendor


def baselines(reports: Mapping[str, Platform]) -> list[Baseline]:
    """Return one baseline for each kind of cloudlet, sorted by kind. Cloudlets whose agents report no models are in
    none."""
    kinds: dict[Kind, dict[str, Platform]] = {}
    for name, platform in sorted(reports.items()):
        if platform.models is not None:
            kinds.setdefault(kind(platform), {})[name] = platform
    return [_of_kind(one, kinds[one]) for one in sorted(kinds)]


def baseline(reports: Mapping[str, Platform]) -> str | None:
    """Return the CPU that all of these cloudlets can give guests, in the form of QEMU's `-cpu`; None if there is none.
    It is the model with most features there; among equals, the one with fewest features removed."""
    found = _best(reports)
    return found[1] if found is not None else None


def lacking(platform: Platform, cpu: str) -> list[str] | None:
    """Return the features of a CPU that a cloudlet cannot give guests; None if it does not know the model."""
    name, *words = cpu.split(",")
    model = (platform.models or {}).get(name)
    if model is None:
        return None
    removed = {word[1:] for word in words if word.startswith("-")}
    return [feature for feature in model.missing if feature not in removed]


def _of_kind(kind: Kind, reports: Mapping[str, Platform]) -> Baseline:
    """Return the baseline of one kind. Most cloudlets have the same machines as others: one of each is compared."""
    alike: dict[tuple[object, ...], list[str]] = {}
    for name, platform in reports.items():
        models = platform.models or {}
        alike.setdefault(tuple((one, models[one].features, *models[one].missing) for one in sorted(models)), []).append(
            name
        )
    groups = list(alike.values())
    best = _best({names[0]: reports[names[0]] for names in groups})
    features, cpu = best if best is not None else (0, None)
    held = list[Hold]()
    for names in groups:
        without = _best({others[0]: reports[others[0]] for others in groups if others is not names})
        if without is not None and without[0] > features:
            held.append(Hold(tuple(names), without[1]))
    return Baseline(kind, tuple(reports), cpu, features, tuple(held))


def _best(reports: Mapping[str, Platform]) -> tuple[int, str] | None:
    """Return the number of features, and the CPU."""
    everywhere = [platform.models or {} for platform in reports.values()]
    known = set.intersection(*(set(models) for models in everywhere)) if everywhere else set()
    found = list[tuple[int, int, str, str]]()
    for name in known:
        removed = sorted({feature for models in everywhere for feature in models[name].missing})
        if len(removed) <= MOST_REMOVED:
            left = min(models[name].features for models in everywhere) - len(removed)
            found.append((-left, len(removed), name, ",".join([name, *(f"-{feature}" for feature in removed)])))
    if not found:
        return None
    left, _, _, cpu = min(found)
    return -left, cpu
