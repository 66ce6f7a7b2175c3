"""The CPU that a QEMU really shows to its guest."""

import re
from typing import Any

from agents.hypervisors.qemu.monitor import CommandRefused, Session
from controller.wire.platforms import CpuModel

_FEATURE = re.compile(r"(?P<sign>[+-])(?P<flag>[\w.-]+)|(?P<name>[\w.-]+)(?:=(?P<value>\S*))?")

# Properties of QEMU's CPU objects that no guest sees as a feature.
_OURS = frozenset({"realized", "hotpluggable", "migratable", "kvm", "check", "enforce", "tcg-cpuid", "legacy-cache"})


def model(cpu: str) -> dict[str, Any]:
    """Return QMP's `CpuModelInfo` for the text of `-cpu`: `NAME[,+FEATURE|-FEATURE|NAME=VALUE]…`."""
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
    """Return the vendor, and the features that the guest sees: those of the model that this host and its accelerator
    have. No features if QEMU cannot expand the model."""
    vendor, lacks = await _property(session, "vendor"), await missing(session)
    try:
        found = await session.execute("query-cpu-model-expansion", {"type": "full", "model": model(cpu)})
    except CommandRefused:
        return str(vendor), []
    return str(vendor), sorted(_on(found) - set(lacks))


async def missing(session: Session) -> list[str]:
    """Return the features of the guest's CPU that this host or its accelerator lacks: the guest does not see them."""
    return sorted({_name(name) for name in await _property(session, "unavailable-features")})


async def _property(session: Session, name: str) -> Any:
    path = (await session.execute("query-cpus-fast"))[0]["qom-path"]
    return await session.execute("qom-get", {"path": path, "property": name})


async def models(session: Session, cpu: str) -> dict[str, CpuModel]:
    """Return the named models that guests can be given here, by the names without a version: `MACHINE_TYPE` determines
    the version, and every libvirt knows these names. A feature that `cpu`, the default for guests here, removes counts
    as missing."""
    away = {_name(name) for name, value in model(cpu)["props"].items() if value is False}
    found = dict[str, CpuModel]()
    for said in await session.execute("query-cpu-definitions"):
        if "alias-of" not in said or not said.get("migration-safe") or said.get("deprecated"):
            continue
        try:
            asked = {"type": "full", "model": {"name": said["name"]}}
            has = _on(await session.execute("query-cpu-model-expansion", asked))
        except CommandRefused:
            continue
        lacks = {_name(name) for name in said.get("unavailable-features", ())} | (away & has)
        found[said["name"]] = CpuModel(features=len(has | lacks), missing=sorted(lacks))
    return found


def _on(expanded: Any) -> set[str]:
    """Return the features of a `CpuModelExpansionInfo`."""
    there = {_name(name) for name, value in expanded["model"]["props"].items() if value is True} - _OURS
    return {name for name in there if not name.startswith("x-")}


def _name(said: str) -> str:
    """Return the name with hyphens: QEMU has some names twice, with underscores from older versions."""
    return said.replace("_", "-")
