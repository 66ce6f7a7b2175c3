"""The CPU that a QEMU really shows to its guest."""

import re
from typing import Any

from agents.hypervisors.qemu.monitor import CommandRefused, Session

_FEATURE = re.compile(r"(?P<sign>[+-])(?P<flag>[\w.-]+)|(?P<name>[\w.-]+)(?:=(?P<value>\S*))?")

# Properties of QEMU's CPU objects that no guest sees as a feature.
_OURS = frozenset({"realized", "hotpluggable", "migratable", "kvm", "check", "enforce", "tcg-cpuid", "legacy-cache"})


def model(cpu: str) -> dict[str, Any]:
    """QMP's `CpuModelInfo` of what `-cpu` says: `NAME[,+FEATURE|-FEATURE|NAME=VALUE]…`."""
    name, *words = cpu.split(",")
    given: dict[str, Any] = {}
    for word in words:
        match = _FEATURE.fullmatch(word)
        if match is None:
            continue
        if match["sign"]:
            given[match["flag"]] = match["sign"] == "+"
        else:
            given[match["name"]] = _value(match["value"])
    return {"name": name, "props": given}


def _value(said: str | None) -> Any:
    if said in (None, "on", "off"):
        return said != "off"
    return int(said) if said is not None and said.isdecimal() else said


async def features(session: Session, cpu: str) -> tuple[str, list[str]]:
    """The vendor, and the features that the guest sees: the model's, without those that this host or its accelerator
    does not have. No features where QEMU cannot expand the model."""
    path = (await session.execute("query-cpus-fast"))[0]["qom-path"]
    vendor = await session.execute("qom-get", {"path": path, "property": "vendor"})
    missing = await session.execute("qom-get", {"path": path, "property": "unavailable-features"})
    try:
        found = await session.execute("query-cpu-model-expansion", {"type": "full", "model": model(cpu)})
    except CommandRefused:
        return str(vendor), []
    there = {_name(name) for name, value in found["model"]["props"].items() if value is True}
    seen = there - {_name(name) for name in missing} - _OURS
    return str(vendor), sorted(name for name in seen if not name.startswith("x-"))


def _name(said: str) -> str:
    """QEMU has some twice, with underscores from before."""
    return said.replace("_", "-")
