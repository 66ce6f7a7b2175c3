"""A hypervisor whose only machine is a namespace: cables are veths, and its guest answers like `weft-guest`."""

import asyncio
import json
import struct
from ipaddress import IPv4Address
from typing import cast

from agents.hypervisors.hypervisor import Hypervisor, HypervisorError
from controller.wire.machines import Machine, Nic
from controller.wire.moves import Act, Addresses, Order
from tests.integration.multipath_net import NICS, Net

DEVICES: dict[str, str] = {"a": "eth0", "b": "eth1"}
MACHINE = Machine(
    name="vm1", driver="fake", image="small", memory=1 << 26, macs=("02:00:00:00:00:0a", "02:00:00:00:00:0b")
)


def order(act: Act, to: int, serving: Nic, linger: float = 0.2, number: int = 1, **changes: str | None) -> Order:
    """Return an order of a move from the other cloudlet to this one."""
    addresses = {"old": f"10.{3 - to}.0.5", "new": f"10.{to}.0.5", "device": f"10.{to}.0.4", **changes}
    return Order(
        move=f"move{to}{serving}",
        number=number,
        act=act,
        machine=MACHINE,
        endpoint=f"c{to}-lan",
        serving=serving,
        addresses=Addresses.model_validate(addresses | {"linger": linger}),
    )


class Machines:
    """The hypervisor. `at` is the cloudlet whose DHCP server the machine reaches. `asked` lists the requests to the
    guest; with `deaf` it does not answer."""

    def __init__(self, net: Net) -> None:
        self.net, self.at = net, 1
        self.asked: list[str] = []
        self.deaf = False
        self._leased: dict[str, str] = {"a": "10.1.0.5"}
        for name in ("all", *DEVICES.values()):
            net.vm.run(f"sysctl -qw net.ipv4.conf.{name}.arp_ignore=1 net.ipv4.conf.{name}.arp_announce=2")
        net.vm.run("ip mptcp endpoint add 10.1.0.5 dev eth0 signal")

    @property
    def hypervisor(self) -> Hypervisor:
        """This object, typed as the interface that an agent uses."""
        return cast(Hypervisor, self)

    async def link(self, name: str, nic: Nic, up: bool) -> None:
        self.net.gate.run(f"ip link set {NICS[nic]} {'up' if up else 'down'}")

    async def announce(self, name: str) -> None:
        for nic, address in self._leased.items():
            with self.net.vm.packets(DEVICES[nic]) as mouth:
                mac, ip = self.net.vm.mac(DEVICES[nic]), IPv4Address(address).packed
                arp = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + mac + ip + bytes(6) + ip
                mouth.send(b"\xff" * 6 + mac + b"\x08\x06" + arp)

    async def guest(self, name: str, program: str, *arguments: str, seconds: float = 30.0) -> str:
        self.asked.append(" ".join((program, *arguments)))
        if self.deaf:
            await asyncio.sleep(min(seconds, 0.2))
            raise HypervisorError("vm1: nobody in the guest answers")
        if program != "weft-guest":
            return self.net.vm.run(" ".join((program, *arguments)))
        command, nic = arguments[0], arguments[1] if len(arguments) > 1 else ""
        match command:
            case "up":
                self._up(nic)
            case "backup" if (other := arguments[2]) not in (self._leased[n] for n in self._leased if n != nic):
                raise HypervisorError(f"vm1: weft-guest: vNIC {'b' if nic == 'a' else 'a'} has not got {other}")
            case "backup" if nic in self._leased:
                self._ip(f"mptcp endpoint change {self._leased[nic]} dev {DEVICES[nic]} backup")
            case "retire":
                self._retire(nic)
        return json.dumps({"nic": nic, "address": self._leased.get(nic)})

    def _ip(self, command: str, check: bool = True) -> None:
        self.net.vm.run(f"ip {command}", check=check)

    def _up(self, nic: str) -> None:
        if nic in self._leased:
            return
        address, device, table = f"10.{self.at}.0.5", DEVICES[nic], 101 + (nic == "b")
        self._leased[nic] = address
        self._ip(f"addr add {address}/24 dev {device}")
        self._ip(f"rule add pref {table} from {address} lookup {table}")
        self._ip(f"route add 10.{self.at}.0.0/24 dev {device} table {table}")
        self._ip(f"route add default via 10.{self.at}.0.1 dev {device} table {table}")
        self._ip(f"mptcp endpoint add {address} dev {device} signal")

    def _retire(self, nic: str) -> None:
        address, device, table = self._leased.pop(nic, None), DEVICES[nic], 101 + (nic == "b")
        if address is None:
            return
        for endpoint in self.net.vm.run("ip mptcp endpoint").splitlines():
            if endpoint.startswith(f"{address} "):
                self._ip(f"mptcp endpoint delete id {endpoint.split()[2]}")
        self._ip(f"mptcp endpoint delete id 0 {address}", check=False)
        self._ip(f"rule del pref {table}", check=False)
        self._ip(f"route flush table {table}", check=False)
        self._ip(f"addr flush dev {device}")
