"""The options of a simulated hypervisor, and its simulated time."""

import asyncio
from collections.abc import Mapping

from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.simulated.precopy import Rates
from controller.wire.machines import Machine
from controller.wire.moves import Tuning

DEFAULTS = {"bandwidth": 1e9, "dirty_rate": 10e6, "used": 0.5, "delay": 0.0, "speed": 1.0, "room": 1e15}
"""The options of the agent's configuration, or of one machine, with their defaults. `bandwidth`: bits per second.
`dirty_rate`: bytes dirtied per second. `used`: the used part of a machine's memory. `delay`: seconds of each call.
`speed`: how many times faster than reported time passes. `room`: bytes of memory for all machines."""


class Options:
    """The options that are set. Raises HypervisorError, naming the option, if one is unknown or no positive number."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = dict(options)
        if unknown := sorted(set(options) - set(DEFAULTS)):
            raise HypervisorError(f"the simulated driver has no option {', '.join(unknown)}")
        for key in DEFAULTS:
            self.number(key)

    def number(self, key: str, machine: Machine | None = None) -> float:
        """Return the value of one option, for all machines or for that one."""
        options = {**self._options, **(machine.options if machine else {})}
        try:
            value = float(options.get(key, DEFAULTS[key]))
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf") or (value == 0 and key in ("bandwidth", "speed")):
            raise HypervisorError(f"the simulated driver's option {key} cannot be {options[key]!r}")
        return value

    def rates(self, machine: Machine, tuning: Tuning | None = None) -> Rates:
        """Return the rates with which a transfer is computed."""
        bandwidth = self.number("bandwidth", machine)
        if tuning is not None and tuning.bandwidth:
            bandwidth = min(bandwidth, tuning.bandwidth)
        return Rates(int(machine.memory * self.number("used", machine)), self.number("dirty_rate", machine), bandwidth)

    async def pass_by(self, seconds: float) -> float:
        """Let simulated seconds pass, and return them."""
        await asyncio.sleep(seconds / self.number("speed"))
        return seconds
