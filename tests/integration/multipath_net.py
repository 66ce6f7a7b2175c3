"""Two LANs of one pool, a VM with two vNICs and a device, on the kernel's own Multipath TCP.

`gate` represents both cloudlets' hosts: bridges `lan1` and `lan2`, each with its gateway, and a veth pair between them
instead of a pseudowire. The VM's cables `vma` and `vmb` and the device's `md0` can be plugged into either.
"""

import hashlib
import json
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from agents.kernel.lan import mac
from tests.integration.agent_namespaces import Namespace, cable, namespaces, wait_for

MPTCP = 262  # IPPROTO_MPTCP
BLOCK = 4096
_PAUSE = 0.002  # seconds between blocks
NICS = {"a": "vma", "b": "vmb"}


class Net:
    """The connected namespaces: VM and device are at cloudlet 1, and the VM's vNIC b is unplugged."""

    def __init__(self, spaces: list[Namespace], subflows: int = 8) -> None:
        self.gate, self.vm, self.device = spaces
        settings = "net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.default.send_redirects=0"
        self.gate.run(f"sysctl -qw {settings} net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0")
        for n in (1, 2):
            # The bridge has a fixed address, as an agent sets it: its own would change with the ports.
            self.gate.run(f"ip link add lan{n} address {mac('gate', n)} type bridge")
            self.gate.run(f"ip addr add 10.{n}.0.1/24 dev lan{n}")
            self.gate.run(f"ip link set lan{n} up")
        self.gate.run("ip link add pw1.2 type veth peer name pw2.1")
        for n, port in ((1, "pw1.2"), (2, "pw2.1")):
            self.gate.run(f"ip link set {port} master lan{n} up")
        for port, device in (("vma", "eth0"), ("vmb", "eth1")):
            cable(self.gate, port, self.vm, device)
            self.gate.run(f"ip link set {port} master lan1")
        cable(self.gate, "md0", self.device, "eth0")
        self.gate.run("ip link set vmb down")
        for space in (self.vm, self.device):
            space.run(f"ip mptcp limits set subflows {subflows} add_addr_accepted {subflows}")
        self.vm.run("ip addr add 10.1.0.5/24 dev eth0")
        self.vm.run("ip route add default via 10.1.0.1")
        self.walk(1)

    def walk(self, cloudlet: int, joins: bool = False) -> None:
        """Move the device to that cloudlet's LAN, without its old address. With `joins` its path manager keeps the
        connections: it adds a subflow from the new address to the VM, and removes the old address."""
        address, before = f"10.{cloudlet}.0.4", f"10.{3 - cloudlet}.0.4"
        self.gate.run("ip link set md0 down")
        self.gate.run(f"ip link set md0 master lan{cloudlet}")
        self.device.run("ip addr flush dev eth0")
        self.gate.run("ip link set md0 up")
        self.device.run(f"ip addr add {address}/24 dev eth0")
        self.device.run(f"ip route replace default via 10.{cloudlet}.0.1")
        if joins:
            self.device.run(f"ip mptcp endpoint add {address} dev eth0 subflow fullmesh")
            for endpoint in self.device.run("ip mptcp endpoint").splitlines():
                if endpoint.startswith(before):
                    self.device.run(f"ip mptcp endpoint delete id {endpoint.split()[2]}")
            self.device.run(f"ip mptcp endpoint delete id 0 {before}", check=False)

    def migrate(self, cloudlet: int) -> None:
        """Move the VM to that cloudlet, without an announcement."""
        for port in NICS.values():
            self.gate.run(f"ip link set {port} master lan{cloudlet}")

    def counters(self, space: Namespace) -> dict[str, int]:
        """Return the Multipath TCP counters of a namespace's kernel."""
        kernel = json.loads(space.run("nstat -asj"))["kernel"]
        return {name.removeprefix("MPTcpExt"): value for name, value in kernel.items() if name.startswith("MPTcp")}


@contextmanager
def net(subflows: int = 8) -> Iterator[Net]:
    with namespaces("gate", "vm", "md") as spaces:
        yield Net(spaces, subflows)


class Stream:
    """A connection from the device to the VM (or between others) that sends back all data. Every octet is compared;
    `stalls` has the time at which each block was sent, and the seconds until it came back."""

    def __init__(
        self,
        net: Net,
        address: str = "10.1.0.5",
        protocol: int = MPTCP,
        ends: tuple[Namespace, Namespace] | None = None,
    ) -> None:
        self.stalls: list[tuple[float, float]] = []
        self.octets = 0
        self.error: str | None = None
        self._ending = threading.Event()
        client, server = ends or (net.device, net.vm)
        with server.entered():
            self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP)
        self._listener.bind(("", 0))
        self._listener.listen()
        with client.entered():
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
        self._socket.settimeout(30)
        self._socket.connect((address, self._listener.getsockname()[1]))
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._echo, self._ask)]
        for thread in self._threads:
            thread.start()

    def _echo(self) -> None:
        peer, _ = self._listener.accept()
        with peer, self._listener:
            while data := peer.recv(65536):
                peer.sendall(data)

    def _ask(self) -> None:
        octets = random.Random(1)
        try:
            while not self._ending.is_set():
                block, began = octets.randbytes(BLOCK), time.monotonic()
                self._socket.sendall(block)
                back = b""
                while len(back) < BLOCK:
                    part = self._socket.recv(BLOCK - len(back))
                    if not part:
                        raise ConnectionError("ended by the VM's side")
                    back += part
                if hashlib.sha256(back).digest() != hashlib.sha256(block).digest():
                    raise ConnectionError("other octets than were sent")
                self.octets += BLOCK
                self.stalls.append((began, time.monotonic() - began))
                time.sleep(_PAUSE)
        except OSError as error:
            self.error = str(error) or type(error).__name__

    def flows(self, octets: int = 20 * BLOCK, seconds: float = 10) -> None:
        """Wait until this many more octets come through; fail if they do not."""
        goal = self.octets + octets
        wait_for("the stream goes on", lambda: self.error or self.octets >= goal, seconds)
        assert self.error is None, self.error

    def end(self) -> None:
        """End the connection from the device's side."""
        self._ending.set()
        self._threads[1].join(40)
        self._socket.close()
        self._threads[0].join(10)
