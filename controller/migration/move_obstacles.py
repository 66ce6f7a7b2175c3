"""Obstacles to a move: what the two cloudlets have told of their hypervisors, images and hosts."""

from sqlalchemy.ext.asyncio import AsyncSession

from controller.core import cpu_choice
from controller.core.host_room import lacks_memory, too_busy
from controller.core.policy.model import Migration
from controller.db import host_loads, platforms, stored_images
from controller.db.stored_images import StoredImageRow
from controller.db.vms import VmRow
from controller.wire.platforms import Platform, differences


async def unlike(session: AsyncSession, vm: VmRow, between: tuple[str, str]) -> list[str]:
    """Return why the VM would not be the same at the other end, from both agents' reports on their hypervisors and
    images. Empty if nothing speaks against the move, or if one agent has reported nothing; but a settled CPU needs an
    agent that reports it."""
    machine = vm.made_of
    here, there = [await platforms.of(session, name, machine.driver) for name in between]
    why = cpu_choice.refusal(machine.cpu, between[1], there) if machine.cpu is not None else None
    cannot = [f"CPU: {why}"] if why is not None else []
    if here is None or there is None:
        return cannot
    ours, theirs = (cpu_choice.given(platform, machine.cpu) for platform in (here, there))
    names = [machine.image] + ([machine.disk.base] if machine.disk is not None else [])
    coming = [one for one in await stored_images.at(session, between[1], names) if one.condition != "there"]
    now = differences(machine, ours, theirs, between)
    then = differences(machine, ours, _with(theirs, ours, [one.image for one in coming]), between)
    return [*(_said(one) for one in coming if now != then), *then, *cannot]


async def crowded(session: AsyncSession, vm: VmRow, destination: str, policy: Migration) -> list[str]:
    """Return why the destination's host has no room for the VM; empty if it has, or has reported nothing of late."""
    machine, load = vm.made_of, (await host_loads.of(session, [destination])).get(destination)
    found = lacks_memory(machine, destination, load), too_busy(machine, destination, load, policy.max_load)
    return [reason for reason in found if reason is not None]


def _with(there: Platform, here: Platform, coming: list[str]) -> Platform:
    """Return the platform with those images that are on their way there as they are here."""
    found = {name: digest for name, digest in here.files.items() if name.partition("/")[0] in coming}
    return there.model_copy(update={"files": there.files | found})


def _said(one: StoredImageRow) -> str:
    if one.condition in ("failed", "refused"):
        return f"image {one.image} cannot be fetched to {one.cloudlet}: {one.detail}"
    part = f", {one.done / one.total:.0%} of {one.total >> 20} MiB" if one.total else ""
    return f"image {one.image} is on its way to {one.cloudlet}{part}"
