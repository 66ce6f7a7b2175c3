"""The CPU that a VM gets, and the cloudlets that can give it. Pure.

The VM's own choice applies, or the policy's (`migration.cpu`) where the VM leaves it to that. The choice is settled
when the VM is started: the model goes into its record (`Machine.cpu`), and every later start and move uses it."""

import difflib
from collections.abc import Mapping

from controller.core.cpu_baseline import baseline, kind, lacking
from controller.core.refusals import conflict
from controller.wire.platforms import Platform

BY_POLICY = "policy"
"""The choice of a VM that follows the policy."""

BASELINE = "baseline"
"""The newest model that all cloudlets to which the VM may move can give."""

DRIVERS_OWN = ("host", "max")
"""The driver's default: all that the host has, or the CPU in the agent's configuration. No move is promised."""

WORDS = (BY_POLICY, BASELINE, *DRIVERS_OWN)
"""Choices that are not models."""

_CLOSE = 0.75  # difflib's ratio: above the similarity of two models that differ by a generation
_SHOWN = 8  # features or cloudlets, in a sentence for users


def meant(cpu: str) -> str:
    """Return the word that a model's name is a misspelling of; empty if there is none."""
    words = (BASELINE, *DRIVERS_OWN)
    close = difflib.get_close_matches(cpu.lower(), words, n=1, cutoff=_CLOSE) if cpu not in words else []
    return close[0] if close else ""


def settle(settled: str | None, choice: str, rule: str, here: str, reports: Mapping[str, Platform]) -> str | None:
    """Return the CPU of a VM that is started at the cloudlet `here`; None is the driver's own. `settled` is the CPU of
    an earlier start, which stays; `choice` is the VM's and `rule` the policy's; `reports` are those of the VM's driver
    at the cloudlets within its reach. If the policy decides and the driver reports no models, its own CPU is used: it
    cannot take another. Raises Refused."""
    if settled is not None:
        if why := refusal(settled, here, reports.get(here)):
            again = "that is the CPU that was settled when it was started, and `weft vm set --cpu` chooses another"
            raise conflict(f"{why}; {again}", "cpu")
        return settled
    wanted = rule if choice == BY_POLICY else choice
    if wanted in DRIVERS_OWN:
        return None
    platform = reports.get(here)
    if choice == BY_POLICY and (platform is None or platform.models is None):
        return None
    said = f"by the policy's migration.cpu, {rule}: " if choice == BY_POLICY else ""
    if platform is None or platform.models is None:
        raise conflict(f"{said}{_silent(here)}", "cpu")
    if wanted != BASELINE:
        if why := refusal(wanted, here, platform):
            raise conflict(f"{said}{why}", "cpu")
        return wanted
    alike = {name: told for name, told in reports.items() if told.models is not None and kind(told) == kind(platform)}
    if (found := baseline(alike)) is None:
        raise conflict(f"{said}there is no CPU model that all of {some(sorted(alike))} can give guests", "cpu")
    return found


def refusal(cpu: str, cloudlet: str, platform: Platform | None) -> str | None:
    """Return why a cloudlet cannot give guests a CPU, from its agent's report of the driver; None if it can."""
    if platform is None or platform.models is None:
        return _silent(cloudlet)
    name = cpu.split(",")[0]
    missing = lacking(platform, cpu)
    if missing is None:
        return f"{cloudlet} knows no CPU model {name!r}{_hint(name, platform)}"
    if missing:
        own = baseline({cloudlet: platform})
        can = f"; the newest that it has is {own}" if own is not None else ""
        return f"{cloudlet} cannot give guests the CPU {cpu}: it lacks {some(missing)}{can}"
    return None


def given(platform: Platform, cpu: str | None) -> Platform:
    """Return the platform that a machine with that CPU finds where others find `platform`, as far as it is known in
    advance: a model has the same features wherever it can be given."""
    return platform if cpu is None else platform.model_copy(update={"cpu": cpu, "features": []})


def some(names: list[str]) -> str:
    """Return the first of many names, for a sentence."""
    rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + rest


def _silent(cloudlet: str) -> str:
    why = "its agent is of an older release, or has not loaded the driver: name it in the agent's configuration"
    return f"{cloudlet} does not report which CPU models it can give guests: {why}"


def _hint(name: str, platform: Platform) -> str:
    """Return a suggestion for a misspelt name, in upper or lower case, or the newest model."""
    known = {word.lower(): word for word in (*(platform.models or {}), BASELINE, *DRIVERS_OWN)}
    close = difflib.get_close_matches(name.lower(), known, n=1)
    if close:
        return f": did you mean {known[close[0]]!r}?"
    best = baseline({"": platform})
    return f"; the newest that it has is {best}" if best is not None else ""
