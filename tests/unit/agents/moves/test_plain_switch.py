"""The switch for machines whose guest does not answer: an old address stays for its time, and never forever."""

from typing import cast

import pytest

from agents.hypervisors.hypervisor import Hypervisor
from agents.moves.switch import Plain
from controller.wire.machines import Machine, Nic
from controller.wire.moves import Addresses, Order

MACHINE = Machine(name="vm1", driver="fake", image="small", memory=1 << 26, macs=("02:00:00:00:00:0a",) * 2)


class Cables:
    def __init__(self) -> None:
        self.pulled: list[Nic] = []

    async def link(self, name: str, nic: Nic, up: bool) -> None:
        self.pulled += [] if up else [nic]


@pytest.mark.parametrize(("linger", "slept"), [(5.0, 5.0), (86400.0, 30.0)])
async def test_it_lingers_for_its_time_and_not_for_long(
    linger: float, slept: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asleep: list[float] = []

    async def sleep(seconds: float) -> None:
        asleep.append(seconds)

    monkeypatch.setattr("agents.moves.switch.asyncio.sleep", sleep)
    cables = Cables()
    addresses = Addresses(old="10.1.0.5", new="10.2.0.5", device="10.2.0.4", linger=linger)
    order = Order(move="m1", number=1, act="leave", machine=MACHINE, endpoint="c2-lan", addresses=addresses)
    await Plain(cast(Hypervisor, cables)).leave(order)
    assert (asleep, cables.pulled) == ([slept], ["a"])
