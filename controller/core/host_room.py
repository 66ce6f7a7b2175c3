"""Whether a host has room for one more machine: its memory, and its processors (Ma et al., section 5: the scheduler
looks at a destination's resources). Pure."""

from controller.wire.host_loads import HostLoad
from controller.wire.machines import Machine

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"))


def lacks_memory(machine: Machine, where: str, load: HostLoad | None) -> str | None:
    """Return why the host `where` has no memory for the machine; None if it has, or nobody knows."""
    if load is None or machine.memory <= load.memory_free:
        return None
    return f"{where} has {_size(load.memory_free)} of memory free, and {machine.name} needs {_size(machine.memory)}"


def too_busy(machine: Machine, where: str, load: HostLoad | None, most: float) -> str | None:
    """Return why the host is too busy for the machine: with it, more than `most` of each processor would be in use.
    None if it is not, nobody knows, or `most` is 0: not looked at."""
    if load is None or not most:
        return None
    share = (load.busy + machine.vcpus) / load.processors
    if share <= most:
        return None
    used = f"{where} has {load.busy:.1f} of {load.processors} processors in use"
    return f"{used}; with {machine.name}'s {machine.vcpus} that is {share:.2f} for each, above {most:g}"


def _size(count: int) -> str:
    for unit, name in _UNITS:
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} bytes"
