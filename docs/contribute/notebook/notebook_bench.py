"""The bench with which the conformance tests try the driver."""

from notebook import driver

from controller.wire.machines import Machine
from tests.conformance.bench import Bench

bench = Bench(
    driver=driver,
    machine=Machine(
        name="conformance",
        driver="notebook",
        image="none",
        memory=1 << 24,
        macs=("02:00:00:00:00:0a", "02:00:00:00:00:0b"),
    ),
    seconds=10,  # what any call may take
)
