"""The transfer from one simulated hypervisor's directory to another's."""

from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from agents.hypervisors.hypervisor import Fenced, HypervisorError, Refused
from agents.hypervisors.simulated.faults import Faults
from agents.hypervisors.simulated.machines import Machines, Record
from agents.hypervisors.simulated.options import Options
from agents.hypervisors.simulated.precopy import rest
from controller.wire.moves import Figures, Target, Tuning

SCHEME = "simulated:"
STEP = 0.25
"""Seconds between two figures of a transfer."""


class Transfer:
    """The source's side of moves."""

    def __init__(self, machines: Machines, options: Options, faults: Faults) -> None:
        self._machines, self._options, self._faults = machines, options, faults

    def begin(self, name: str, move: str, target: Target) -> Record:
        """Note where the machine goes: to one target at a time. Raises Fenced, Refused or HypervisorError."""
        with self._machines.change(name):
            record = _leaves(self._machines.here(name), move)
            if not target.memory[0].startswith(SCHEME):
                raise Refused(f"{target.memory[0]} is not a simulated target")
            directory = target.memory[0].removeprefix(SCHEME)
            if record.leaving != move or record.target != directory:
                record = record.model_copy(update={"leaving": move, "target": directory, "copied": set()})
                self._machines.write(record)
            return record

    async def send(
        self, part: str, name: str, move: str, amounts: Iterable[int], tuning: Tuning
    ) -> AsyncIterator[Figures]:
        """Copy one part, in rounds of so many bytes. A part that is copied already is not copied again."""
        record = self._machines.here(name)
        machine, there = record.machine, Machines(Path(record.target or ""))
        rates, done, seconds = self._options.rates(machine, tuning), 0, 0.0
        there.awaited(name, move)
        for count, amount in enumerate([] if part in record.copied else amounts, start=1):
            left = rates.seconds(amount)
            while left > 0:
                passed = await self._options.pass_by(min(left, STEP * self._options.number("speed")))
                there.awaited(name, move)
                left, seconds = left - passed, seconds + passed
                sent = done + amount - int(max(left, 0) * rates.bandwidth / 8)
                yield Figures(
                    seconds=seconds,
                    done=sent,
                    total=max(done + amount, sent),
                    wire=sent,
                    bandwidth=rates.bandwidth,
                    dirty_rate=rates.dirty,
                    memory_used=rates.used,
                    rounds=count,
                )
            done += amount
            if count == 1:
                await self._faults.strike(f"{part}.half")
        with self._machines.change(name):
            now = self._machines.here(name)
            if now.leaving != move:
                raise Fenced(f"{name} no longer belongs to move {move}")
            self._machines.write(now.model_copy(update={"copied": now.copied | {part}}))

    async def finish(self, name: str, move: str) -> Figures:
        """Pause the machine, hand it over, and make it `moved`. If the agent is killed in between, the call can be
        repeated or the move aborted."""
        record = self._machines.here(name)
        if record.condition == "moved" and record.leaving == move:
            return record.handed
        _leaves(record, move)
        if record.target is None or "memory" not in record.copied:
            raise HypervisorError(f"the memory of {name} has not been copied")
        there, tuning = Machines(Path(record.target)), Tuning()
        there.awaited(name, move)
        self._machines.turn(name, condition="paused")
        await self._faults.strike("switchover.paused")
        rates = self._options.rates(record.machine)
        seconds = await self._options.pass_by(rates.seconds(rest(rates, tuning)))
        with there.change(name):
            there.write(there.awaited(name, move).model_copy(update={"arrived": True, "boot": record.boot}))
        await self._faults.strike("switchover.handed")
        handed = Figures(seconds=seconds, wire=rest(rates, tuning), paused_ms=seconds * 1000)
        self._machines.turn(name, condition="moved", handed=handed)
        return handed


def _leaves(record: Record, move: str) -> Record:
    """Return the record. Raises Fenced if the machine cannot leave by that move."""
    if record.condition not in ("running", "paused") or record.leaving not in (move, None):
        whose = record.leaving or record.coming
        raise Fenced(
            f"{record.machine.name} is {record.condition}" + (f" and belongs to move {whose}" if whose else "")
        )
    return record
