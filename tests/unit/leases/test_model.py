"""No two live leases share an address, whatever happens: clients, partitions, messages lost or late, crashes, restored
copies of disks and of the database, clocks that jump. The test runs random sequences against the real code.

It leaves out the cases that docs/network/leases.md calls unavoidable: an older copy of the database restored within a
lease time of the loss of the agent's memory, or the other way round; and operators' grants after the copy was made.
"""

import asyncio
import shutil
import sqlite3
import tempfile
from collections.abc import Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.unit.controller.conftest import migrate
from tests.unit.leases.world import PLAN, SECONDS, Disk, Machine, World

T = TypeVar("T")
DEVICES = 3
EXAMPLES = 40


class Storm(RuleBasedStateMachine):
    """One endpoint of 30 pairs, ten clients, and three devices that may be registered."""

    template: Path

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="weft-model-", dir="/dev/shm"))
        shutil.copy(self.template, self.folder / "weft.db")
        self.patch, self.runner = pytest.MonkeyPatch(), asyncio.Runner()
        self.world = World(f"sqlite+aiosqlite:///{self.folder}/weft.db", self.patch)
        self.run(self.world.found())
        for _ in range(2):  # blocks are asked for, and are there
            self.run(self.world.exchange())
        self.disks: list[Disk] = []
        self.copied: dict[tuple[int, Any], tuple[str, float]] | None = None
        self.lost_at = -1e9
        self.restored = False

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def teardown(self) -> None:
        try:
            self.converges()
        finally:
            self.run(self.world.database.close())
            self.runner.close()
            self.patch.undo()
            shutil.rmtree(self.folder)

    def converges(self) -> None:
        """Check that after recovery the controller has every lease that the agent has."""
        world = self.world
        for _ in range(40):
            self.run(world.exchange())
            if not world.book.changed:
                break
        assert not world.book.changed
        self.addresses_are_held_once()
        there = self.run(world.table())
        for pair in world.book.pairs.values():
            for kind, half in pair.halves.items():
                if half.until > world.clock and pair.confirmed and half.client:
                    assert there.get(str(PLAN.address(pair.number, kind))) == half.client.mac

    @invariant()
    def addresses_are_held_once(self) -> None:
        double = {half: who for half, who in self.world.holders().items() if len(who) > 1}
        assert not double, double

    # Clients.

    @rule(
        number=st.integers(0, 9),
        asks=st.booleans(),
        fate=st.sampled_from(["ok", "ok", "ok", "unheard", "crash"]),
        heard=st.sampled_from(["ok", "ok", "lost", "unheard"]),
    )
    def discovers(self, number: int, asks: bool, fate: str, heard: str) -> None:
        machine = self.world.machines[number]
        if asks and not self.world.book.knows(machine.client, self.world.clock):
            self.run(self.world.exchange(heard, [machine.client]))
            self.noted(heard)
        offered = self.world.offer(machine)
        if offered is not None:
            if machine.holds is not None and machine.holds != offered:
                machine.holds = None
            self.world.request(machine, offered, renewing=False, fate=fate)

    @rule(numbers=st.lists(st.integers(0, 9), unique=True, max_size=6))
    def come(self, numbers: list[int]) -> None:
        """Several clients come one after the other, while the agent does not reach the controller."""
        for number in numbers:
            self.discovers(number, False, "ok", "lost")

    @rule(number=st.integers(0, 9), fate=st.sampled_from(["ok", "ok", "unheard", "crash"]))
    def renews(self, number: int, fate: str) -> None:
        machine = self.world.machines[number]
        if machine.holds is not None and machine.until > self.world.time:
            self.world.request(machine, machine.holds, renewing=True, fate=fate)

    @rule(number=st.integers(0, 9))
    def reboots(self, number: int) -> None:
        machine = self.world.machines[number]
        if machine.remembers is not None:
            self.world.request(machine, machine.remembers, renewing=False, fate="ok")

    @rule(number=st.integers(0, 9))
    def releases(self, number: int) -> None:
        machine = self.world.machines[number]
        if machine.holds is not None and machine.until > self.world.time:
            self.world.release(machine)

    @rule(number=st.integers(0, 9))
    def declines(self, number: int) -> None:
        machine = self.world.machines[number]
        if machine.holds is not None and machine.until > self.world.time:
            self.world.decline(machine)

    @rule(seconds=st.sampled_from([1, 40, 200, 350, SECONDS + 1, 2 * SECONDS]))
    def time_passes(self, seconds: int) -> None:
        self.world.time += seconds

    # Messages.

    def noted(self, fate: str) -> None:
        if fate == "ok" and not self.world.book.changed:
            self.restored = False

    @rule(fate=st.sampled_from(["ok", "ok", "ok", "lost", "unheard", "late"]))
    def exchanges(self, fate: str) -> None:
        self.run(self.world.exchange(fate))
        self.noted(fate)

    @rule()
    def comes_late(self) -> None:
        if self.world.late:
            self.run(self.world.deliver(self.world.late.pop()))

    # The agent's misfortunes.

    @rule()
    def is_killed(self) -> None:
        self.world.start_agent(proven=True)

    @rule()
    def loses_power(self) -> None:
        self.world.booted = self.world.time - 5
        self.world.start_agent(proven=False)

    @rule()
    def is_copied(self) -> None:
        self.disks.append(self.world.disk.copy())

    @precondition(lambda self: self.disks and not self.restored)
    @rule(data=st.data(), power=st.booleans())
    def is_an_older_copy(self, data: st.DataObject, power: bool) -> None:
        self.world.disk = data.draw(st.sampled_from(self.disks)).copy()
        older = self.world.proof > self.world.disk.writes
        self.lost_at = self.world.time if older else -1e9
        if power:
            self.world.booted = self.world.time - 5
        self.world.start_agent(proven=not power)

    @precondition(lambda self: not self.restored)
    @rule(goes_on=st.booleans())
    def loses_its_disk(self, goes_on: bool) -> None:
        self.world.disk, self.world.proof, self.lost_at = Disk(), 0, self.world.time
        self.world.start_agent(proven=False)
        for _ in range(2 if goes_on else 0):
            self.run(self.world.exchange())
            self.run(self.world.sweep())
            self.run(self.world.exchange())

    # The controller's.

    @rule()
    def controller_restarts(self) -> None:
        self.run(self.world.database.close())
        self.world.open()

    @rule()
    def sweeps(self) -> None:
        self.run(self.world.sweep())

    @rule(seconds=st.sampled_from([-3000, -100, 0, 100, 3000]))
    def clock_on_the_wall_jumps(self, seconds: int) -> None:
        self.world.skew = float(seconds)

    @rule()
    def database_is_copied(self) -> None:
        with (
            closing(sqlite3.connect(self.folder / "weft.db")) as source,
            closing(sqlite3.connect(self.folder / "copy.db")) as copy,
        ):
            source.backup(copy)
        self.copied = dict(self.world.granted)

    @precondition(lambda self: self.copied is not None and self.world.time > self.lost_at + 2 * SECONDS + 100)
    @rule()
    def database_is_an_older_copy(self) -> None:
        assert self.copied is not None
        self.run(self.world.database.close())
        for name in ("weft.db-wal", "weft.db-shm"):
            (self.folder / name).unlink(missing_ok=True)
        shutil.copy(self.folder / "copy.db", self.folder / "weft.db")
        self.world.granted = dict(self.copied)
        for machine in self.world.machines:
            machine.registered = None
        self.world.open()
        self.restored = True

    # Operators.

    @rule(device=st.integers(0, DEVICES - 1), vm=st.booleans())
    def registers(self, device: int, vm: bool) -> None:
        machines: list[Machine] = self.world.machines
        self.run(self.world.register(f"m{device}", machines[2 * device], machines[2 * device + 1] if vm else None))

    @rule(device=st.integers(0, DEVICES - 1), vm=st.booleans())
    def grants(self, device: int, vm: bool) -> None:
        self.run(self.world.grant(f"m{device}", "vm" if vm else "md"))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "weft.db"
    migrate(f"sqlite+aiosqlite:///{path}")
    return path


def test_no_two_live_leases_share_an_address(template: Path) -> None:
    Storm.template = template
    run_state_machine_as_test(
        Storm,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=40,
            suppress_health_check=list(HealthCheck),
        ),
    )
