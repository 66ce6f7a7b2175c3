"""The platform of a machine at a cloudlet, which must be the same at the other end of a move.

A driver reports it for a machine that it runs or waits for (`Target.platform`), and for all its machines, for planning
(`MoveReport.platforms`). A move transfers neither the base image of a disk nor CPU features. If one of them differed,
the move would end as "done", with a silently corrupt disk or a dead guest.
"""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from controller.wire.fields import Name
from controller.wire.machines import Machine
from controller.wire.model import Message

Word = Annotated[str, Field(max_length=100)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]

FILES = ("kernel", "initramfs")
MANIFEST = "manifest"
"""An image of containers, by the digest of its manifest (OCI image-spec)."""
BASE = "disk.qcow2"
MOST_IMAGES = 1000
_SHOWN = 8  # features, in a readable sentence


class CpuModel(Message):
    """A named CPU model: its number of `features`, and those `missing` here."""

    features: Annotated[int, Field(ge=0, le=10_000)]
    missing: Annotated[list[Word], Field(max_length=500)] = Field(default_factory=list)


class Platform(Message):
    """A platform. `version` is the hypervisor's, for display; `board` is the machine type with its version, which lays
    out devices and their state; `accelerator` runs instructions; `cpu` is the CPU as configured, `vendor` its vendor,
    and `features` those that the guest really sees. `files` have SHA-256 digests, by IMAGE/FILE. `models` are the CPU
    models that guests can be given, by name; None in a target, and from an agent of an older release, which does not
    understand `Machine.cpu` either. `images` are all that machines can boot from; None in a target, from an older
    agent, and if there are more than a message allows. `direct`: the driver knows `Tuning.direct`. `rounds` are the
    most after which the driver pauses a machine, however much is left; None if it goes on until the rest fits."""

    version: Word
    board: Word
    accelerator: Word
    cpu: Annotated[str, Field(max_length=400)]
    vendor: Word = ""
    features: Annotated[list[Word], Field(max_length=2000)] = Field(default_factory=list)
    files: Annotated[dict[Annotated[str, Field(max_length=200)], Digest], Field(max_length=MOST_IMAGES * 3)] = Field(
        default_factory=dict
    )
    models: Annotated[dict[Word, CpuModel], Field(max_length=500)] | None = Field(
        default=None, exclude_if=lambda known: known is None
    )
    images: Annotated[list[Name], Field(max_length=MOST_IMAGES)] | None = Field(
        default=None, exclude_if=lambda known: known is None
    )
    direct: Annotated[bool, Field(exclude_if=lambda direct: not direct)] = False
    rounds: Annotated[int, Field(ge=1, le=1000)] | None = Field(default=None, exclude_if=lambda most: most is None)


def files(machine: Machine) -> list[str]:
    """Return the names of the files that a machine of this description may need."""
    base = [f"{machine.disk.base}/{BASE}"] if machine.disk is not None else []
    return [*(f"{machine.image}/{name}" for name in (*FILES, MANIFEST)), *base]


def differences(
    machine: Machine, here: Platform, there: Platform, names: tuple[str, str] = ("here", "there")
) -> list[str]:
    """Return the reasons why the machine cannot move from `here` to `there`, a sentence each; empty if it can. `names`
    stand for the two in the sentences."""
    return [*_files(machine, here, there, *names), *_processor(here, there, *names)]


def _files(machine: Machine, here: Platform, there: Platform, one: str, two: str) -> Iterator[str]:
    for name in files(machine):
        ours, theirs = here.files.get(name), there.files.get(name)
        if ours == theirs:
            continue
        found = f"{one} {_digest(ours)}, {two} {_digest(theirs)}"
        remedy = "copy the same file to both cloudlets' images, and start the machine anew where that changes it"
        yield f"file {name}: {found}; {remedy}"


def _digest(digest: str | None) -> str:
    return f"sha256 {digest[:12]}" if digest else "none"


def _processor(here: Platform, there: Platform, one: str, two: str) -> Iterator[str]:
    for what, ours, theirs in (
        ("machine type", here.board, there.board),
        ("accelerator", here.accelerator, there.accelerator),
        ("CPU vendor", here.vendor, there.vendor),
    ):
        if ours != theirs:
            yield f"{what}: {one} {ours or 'unknown'}, {two} {theirs or 'unknown'}"
    if here.features and there.features:
        more, less = (sorted(set(ours) - set(theirs)) for ours, theirs in _pairs(here, there))
        if more or less:
            said = [f"only {where} {_some(names)}" for where, names in ((one, more), (two, less)) if names]
            remedy = "start the machine with one that both have: `weft vm set --cpu baseline`, or `migration.cpu`"
            yield f"CPU: {one} {here.cpu}, {two} {there.cpu}; {', '.join(said)}; {remedy}"
    elif here.cpu != there.cpu:
        yield f"CPU: {one} {here.cpu}, {two} {there.cpu}"


def _pairs(here: Platform, there: Platform) -> list[tuple[list[str], list[str]]]:
    return [(here.features, there.features), (there.features, here.features)]


def _some(names: list[str]) -> str:
    rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return " ".join(names[:_SHOWN]) + rest
