"""The bench of the simulated driver."""

from agents.hypervisors.hypervisor import Hypervisor
from agents.hypervisors.simulated import SimulatedHypervisor, driver
from controller.wire.machines import Disk, Machine
from tests.conformance.bench import Bench


async def booted(hypervisor: Hypervisor, name: str) -> str:
    """Return the boot time that a simulated machine reports."""
    return (await hypervisor.machines())[name].detail


async def crash(hypervisor: Hypervisor, name: str) -> None:
    """End the machine as if it had ended by itself."""
    assert isinstance(hypervisor, SimulatedHypervisor)
    hypervisor.die(name)


async def freeze(hypervisor: Hypervisor, name: str, frozen: bool) -> None:
    """Freeze the machine, so that it answers nobody, or resume it."""
    assert isinstance(hypervisor, SimulatedHypervisor)
    hypervisor.freeze(name, frozen)


bench = Bench(
    driver=driver,
    machine=Machine(
        name="conformance",
        driver="simulated",
        image="tiny",
        memory=1 << 24,
        macs=("02:00:00:00:00:0a", "02:00:00:00:00:0b"),
        disk=Disk(base="tiny", bytes=1 << 20),
    ),
    options={"speed": "50", "delay": "0.01"},
    identity=booted,
    kill=crash,
    freeze=freeze,
)
