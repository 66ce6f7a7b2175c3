"""A complete driver: it notes its machines in files, is not live, and has no disks or guests (../drivers.md)."""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from agents.hypervisors.hypervisor import Attachment, Capabilities, Fenced, HypervisorError, Site
from controller.wire.machines import Machine, MachineState, Nic
from controller.wire.moves import Figures, Target, Tuning

SCHEME = "notebook:"


class Notebook:
    """A page has the machine's `condition`, the move by which it is `leaving` and where `to`, the move by which it is
    `coming`, and whether it has `arrived` and `ran` here."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def read(self, name: str) -> dict[str, Any]:
        """An empty page if there is no such machine."""
        path = self._directory / f"{name}.json"
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def note(self, name: str, **changes: Any) -> None:
        """A crash leaves the old page or the new one."""
        fresh = self._directory / f"{name}.new"
        fresh.write_text(json.dumps({**self.read(name), **changes}))
        fresh.rename(self._directory / f"{name}.json")

    def awaited(self, name: str, move: str) -> None:
        """Raises HypervisorError unless the machine is waited for here."""
        page = self.read(name)
        if page.get("condition") != "waiting" or page.get("coming") != move:
            raise HypervisorError(f"the destination does not wait for {name}")

    async def capabilities(self) -> Capabilities:
        return Capabilities(version="notebook 1", live=False)

    async def machines(self) -> Mapping[str, MachineState]:
        pages = {path.stem: self.read(path.stem) for path in self._directory.glob("*.json")}
        return {
            name: MachineState(name=name, condition=page["condition"], serving=page["serving"])
            for name, page in pages.items()
        }

    async def start(self, machine: Machine, attachment: Attachment, serving: Nic) -> None:
        condition = self.read(machine.name).get("condition", "gone")
        if condition in ("gone", "stopped"):
            self.note(machine.name, condition="running", serving=serving, leaving=None, coming=None)
        elif condition != "running":
            raise Fenced(f"{machine.name} is {condition} here")

    async def prepare(
        self, machine: Machine, attachment: Attachment, serving: Nic, move: str, tuning: Tuning
    ) -> Target:
        page = self.read(machine.name)
        if page.get("condition", "stopped") == "stopped":
            fresh = {"leaving": None, "coming": move, "arrived": False, "ran": False}
            self.note(machine.name, condition="waiting", serving=serving, **fresh)
        elif page["condition"] != "waiting" or page["coming"] != move:
            raise Fenced(f"{machine.name} is {page['condition']} here")
        return Target(memory=[f"{SCHEME}{self._directory}"])

    async def disk(self, name: str, move: str, target: Target, tuning: Tuning) -> AsyncIterator[Figures]:
        raise HypervisorError("a notebook has no disks")
        yield Figures()

    async def memory(self, name: str, move: str, target: Target, tuning: Tuning) -> AsyncIterator[Figures]:
        page, to = self.read(name), target.memory[0].removeprefix(SCHEME)
        if page.get("condition") not in ("running", "paused") or page["leaving"] not in (None, move):
            raise Fenced(f"{name} does not run here, or belongs to another move")
        Notebook(Path(to)).awaited(name, move)
        self.note(name, leaving=move, to=to)
        yield Figures()

    async def switchover(self, name: str, move: str) -> Figures:
        page = self.read(name)
        if page.get("leaving") != move:
            raise Fenced(f"{name} does not leave by move {move}")
        if page["condition"] != "moved":
            if page["condition"] not in ("running", "paused"):
                raise HypervisorError(f"{name} is {page['condition']}")
            there = Notebook(Path(page["to"]))
            there.awaited(name, move)
            self.note(name, condition="paused")
            there.note(name, arrived=True)
            self.note(name, condition="moved")
        return Figures(paused_ms=0)

    async def arrived(self, name: str, move: str) -> bool:
        page = self.read(name)
        if page.get("coming") != move or not page["arrived"]:
            return False
        return page["ran"] or page["condition"] != "stopped"

    async def activate(self, name: str, move: str) -> Figures:
        page = self.read(name)
        if not await self.arrived(name, move) or page["leaving"]:
            raise Fenced(f"{name} is {page.get('condition', 'gone')} here, and has not arrived by move {move}")
        if page["condition"] != "stopped":
            self.note(name, condition="running", ran=True)
        return Figures()

    async def hold(self, name: str) -> None:
        if self.read(name).get("condition") == "running":
            self.note(name, condition="paused")

    async def abort(self, name: str, move: str) -> None:
        page = self.read(name)
        if page.get("coming") == move and not page["leaving"]:
            (self._directory / f"{name}.json").unlink()
        elif page.get("condition") in ("running", "paused", "moved") and page["leaving"] in (None, move):
            self.note(name, condition="running", leaving=None)

    async def discard(self, name: str) -> None:
        if (condition := self.read(name).get("condition")) in ("running", "waiting"):
            raise Fenced(f"{name} is {condition} here")
        (self._directory / f"{name}.json").unlink(missing_ok=True)

    async def stop(self, name: str) -> None:
        if self.read(name).get("condition") in ("running", "paused"):
            self.note(name, condition="stopped")

    async def link(self, name: str, nic: Nic, up: bool) -> None:
        if not self.read(name):
            raise HypervisorError(f"there is no machine {name}")

    async def announce(self, name: str) -> None:
        pass

    async def guest(self, name: str, program: str, *arguments: str, seconds: float = 30.0) -> str:
        raise HypervisorError("nobody listens in a notebook")


def driver(site: Site) -> Notebook:
    return Notebook(site.state_dir)
