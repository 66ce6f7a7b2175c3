"""A region on this machine: built, enrolled, leased, inspected, removed. This is the lab's interface.

region = Region.load(Path("lab/topologies/demo.yaml"))
region.up(print)          # or its phases apart: build, enrol, apply_policy, lease
region.ping("m1", region.address("v1"))
region.processes["rs1"].kill(); region.processes["rs1"].start()
region.down(print)
"""

import contextlib
import hashlib
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from lab import cleanup, daemons, enrolment, netns, stations, underlay, wan, web_ui
from lab.capture import Capture
from lab.containers import build as containers
from lab.errors import LabError
from lab.interruption import interruptible
from lab.lock import LabLock, Progress
from lab.paths import BIN, ENV, GUESTS, LAB, RUN, SOCKET
from lab.ping import PingStream
from lab.plan import Plan, hosts, plan
from lab.process import Process
from lab.rest import Rest
from lab.state import LabState, Record
from lab.topology import Topology, load
from lab.underlay import station_node
from lab.watch import Watch


class Region:
    """One lab. Only one runs on a machine at a time. `lock` is held while it is built or removed. If the caller has
    acquired `lock` before, `up` and `down` do not release it."""

    def __init__(self, topology: Topology, state: LabState | None = None) -> None:
        self.topology = topology
        self.plan: Plan = plan(topology)
        self.lock = LabLock()
        self._state = state
        self._progress: Progress = lambda _: None

    @classmethod
    def load(cls, path: Path) -> Self:
        """Return the region that a topology file describes, attached to it if it is running already."""
        topology = load(path)
        state = LabState.read()
        return cls(topology, state if state and state.digest == _digest(topology) else None)

    @classmethod
    def running(cls) -> "Region | None":
        """Return the lab that is up on this machine, or half up, or None if there is none."""
        state = LabState.read()
        return cls(load(Path(state.topology)), state) if state else None

    @property
    def state(self) -> LabState:
        if self._state is None:
            raise LabError("the lab is not up", "weft-lab up TOPOLOGY")
        return self._state

    @property
    def watch(self) -> Watch:
        return Watch(self.state)

    @property
    def processes(self) -> Mapping[str, Process]:
        """Every daemon by name: wan, rs1, controller, c1-agent, c1-gobgpd, c6-zebra, c6-bgpd, m1-dhcp and so on."""
        return self.watch.processes

    # -- up and down ------------------------------------------------------------------------------------------------
    def up(self, progress: Progress = print, wait_seconds: float = 0) -> None:
        """Build everything up to leased addresses. On failure or Ctrl-C nothing stays behind.

        If this very lab is up, this only says so. It refuses if another lab is up, and removes what a dead one has
        left. It waits up to `wait_seconds` for another lab to be gone.
        """
        with self._locked(wait_seconds, progress), interruptible():
            if self._is_up(wait_seconds, progress):
                progress("the lab is up already")
                return
            began = time.monotonic()
            try:
                cleanup.remove(progress)
                for phase in (self.build, self.enrol, self.apply_policy, self.lease, self.boot, self.open):
                    phase(progress)
                self.state.phase = "up"
                self.state.save()
                self._write_env()
            except BaseException as error:
                progress(f"giving up ({error or type(error).__name__}); removing what was built")
                self._forget(progress)
                raise
        progress(f"up in {time.monotonic() - began:.1f} s")
        progress(f". {ENV}   # or: export WEFT_URL=unix://{SOCKET}; then: weft cloudlet list")

    def down(self, progress: Progress = print, wait_seconds: float = 60) -> None:
        """Remove everything but the logs below build/lab. This works from any state and any number of times."""
        with self._locked(wait_seconds, progress):
            self._forget(progress)

    @contextlib.contextmanager
    def occupied(self, progress: Progress = print, wait_seconds: float = 600) -> Iterator[None]:
        """Occupy the machine's lab: wait for the lock, remove what a dead lab has left, and remove this one whatever
        happens inside. SIGTERM and SIGHUP end it as Ctrl-C does."""
        self.lock.acquire(wait_seconds, progress)
        with self.lock, interruptible():
            cleanup.remove(progress)
            try:
                yield
            finally:
                self._forget(progress)

    @staticmethod
    def remove(progress: Progress = print, wait_seconds: float = 60) -> None:
        """Remove the lab on this machine as `down` does, without a topology."""
        lock = LabLock()
        lock.acquire(wait_seconds, progress)
        with lock:
            cleanup.remove(progress)

    # -- phases -----------------------------------------------------------------------------------------------------
    def build(self, progress: Progress = print) -> None:
        """Build namespaces, WAN, route servers, controller and the PEs' daemons. The caller must hold the lock."""
        self.lay(progress)
        progress(f"route servers {' and '.join(self.topology.route_servers)}, controller, PE daemons")
        self.start(daemons.route_servers(self.topology, self.plan))
        self.start(daemons.controller(self.topology, self.plan))
        for cloudlet in self.topology.cloudlets:
            if cloudlet.pe == "evpn":
                daemons.make_frr_directory(cloudlet)
            self.start(daemons.speakers(cloudlet))
        for member in (*hosts(self.topology, self.plan), *self.topology.cloudlets) if self.topology.ipsec else ():
            self.start(daemons.charon(member))
        with Rest() as rest:
            self.watch.wait(rest.ready, 60, "the controller is not ready")

    def lay(self, progress: Progress = print) -> None:
        """Build namespaces, cables and the WAN, without anything of Weft. The caller must hold the lock."""
        if not self.lock.held:
            raise LabError("the lab's lock is not held")
        if missing := daemons.missing():
            raise LabError(f"not built yet: {', '.join(missing)}", "make build")
        if self.topology.ipsec and not daemons.CHARON.is_file():
            raise LabError("strongSwan's charon is not installed", "lab/provision")
        if self.topology.machines and not (GUESTS / "lab" / "made.json").is_file():
            raise LabError("the guest for VMs is not built yet", "make guests")
        folder = GUESTS / containers.FOLDER
        if any(machine.driver == "container" for _, machine in self.topology.machines) and not folder.is_dir():
            raise LabError("the image of containers is not built yet", "make guests")
        shutil.rmtree(LAB, ignore_errors=True)
        LAB.mkdir(parents=True)
        RUN.mkdir(mode=0o755, parents=True, exist_ok=True)
        names = [netns.PREFIX + node for node in underlay.nodes(self.topology)]
        self._state = LabState(str(self.topology.path), _digest(self.topology), time.time(), namespaces=names)
        self._state.save()
        emulator = wan.choose()
        self._state.emulator = emulator.value
        progress(f"{len(names)} namespaces, {len(self.plan.lines)} links, WAN by {emulator.value}")
        netns.create(names)
        underlay.lay(self.topology, self.plan, emulator)
        if arguments := wan.shape(self.plan.lines, emulator, LAB / "wan.links"):
            self.start(daemons.relay(arguments))

    def enrol(self, progress: Progress = print) -> None:
        """Enrol cloudlets, their agents, endpoints and devices over REST, and return when the route servers have routes
        of all."""
        enrolment.enrol(self.topology, self.plan, self.watch, progress)

    def apply_policy(self, progress: Progress = print) -> None:
        """Apply the topology's policy, if it names one."""
        if path := self.topology.policy:
            progress(f"policy {path.name}")
            with Rest(timeout=120) as rest:
                change = rest.apply_policy(path.read_text(), path.name)
            if not change["in_force"]:
                late = [agent["cloudlet"] for agent in change["agents"] if not agent["confirmed"]]
                raise LabError(f"policy {path.name} is not in force at {', '.join([*change['unreachable'], *late])}")

    def lease(self, progress: Progress = print) -> dict[str, str]:
        """Start the DHCP clients of every device and VM; return their IPv4 addresses (without length) by name."""
        stations.lease(self.topology, self.watch, self.state, progress)
        return self.state.leases

    def boot(self, progress: Progress = print, seconds: float = 120) -> dict[str, str]:
        """Add and start the VMs that really boot; return their addresses (without length) by name."""
        return stations.boot(self.topology, self.watch, progress, seconds)

    def open(self, progress: Progress = print) -> None:
        """Lead browsers on this machine to the web UI, if it is built."""
        if web_ui.BUILT.is_file():
            self.start(daemons.window(self.topology, self.plan))
            progress(web_ui.opened(self.watch))

    # -- for demos and tests ----------------------------------------------------------------------------------------
    def address(self, station: str) -> str:
        """Return the leased address of a device or VM."""
        if station not in self.state.leases:
            raise LabError(f"{station} has no lease", f"known: {', '.join(self.state.leases) or 'none'}")
        return self.state.leases[station]

    def address6(self, station: str) -> str:
        """Return the leased IPv6 address of a device or VM on a LAN that has IPv6."""
        if station not in self.state.leases6:
            raise LabError(f"{station} has no IPv6 lease", f"known: {', '.join(self.state.leases6) or 'none'}")
        return self.state.leases6[station]

    def node(self, name: str) -> str:
        """Return the node that a cloudlet, device, VM or other part of the lab is; its namespace is `weft-{node}`."""
        bare = name.removeprefix(netns.PREFIX)
        for cloudlet, station in self.topology.stations:
            if bare == station.name:
                return station_node(cloudlet.name, station.name)
        if bare == "controller":
            return self.topology.controller
        if bare not in underlay.nodes(self.topology):
            raise LabError(f"there is no '{name}' in the lab", f"known: {', '.join(underlay.nodes(self.topology))}")
        return bare

    def namespace(self, name: str) -> str:
        return netns.PREFIX + self.node(name)

    def execute(
        self, name: str, argv: Sequence[str], *, stdin: str = "", timeout: float = 60, check: bool = False
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command in a node's namespace to its end."""
        return netns.execute(self.namespace(name), argv, stdin=stdin, timeout=timeout, check=check)

    def ping(self, name: str, address: str, interval: float = 0.05, size: int = 56) -> PingStream:
        """Start a stream of pings from a device, VM or cloudlet."""
        return PingStream(self.node(name), address, interval, size)

    def capture(self, name: str, expression: str, interface: str = "wan0", direction: str = "inout") -> Capture:
        """Start a capture on an interface of a node (a cloudlet's first WAN interface unless told)."""
        return Capture(self.node(name), interface, expression, direction)

    def status(self) -> list[dict[str, Any]]:
        """Return one row per daemon: name, node, state, pid, resident_bytes, cpu_seconds, log."""
        return self.watch.rows()

    def summary(self) -> dict[str, Any]:
        """Return topology, phase, WAN emulator, leases and web UI of the lab."""
        state = self.state
        return {
            "topology": state.topology,
            "phase": state.phase,
            "wan": state.emulator,
            "started_at": state.started_at,
            "namespaces": len(state.namespaces),
            "leases": dict(state.leases),
            "ui": web_ui.address(),
        }

    # -- inside -----------------------------------------------------------------------------------------------------
    def start(self, records: dict[str, Record]) -> None:
        """Start processes of the lab, which end with it."""
        self.watch.start(records)

    def _is_up(self, wait_seconds: float, progress: Progress) -> bool:
        deadline = time.monotonic() + wait_seconds
        told = False
        while (state := _read_or_none()) and state.phase == "up":
            if state.digest == _digest(self.topology) and wait_seconds == 0:
                self._state = state
                stopped = [name for name, process in self.processes.items() if not process.alive()]
                if not stopped:
                    return True
                progress(f"the lab is up but for {', '.join(stopped)}; building it anew")
                return False
            if time.monotonic() >= deadline:
                raise LabError(f"another lab is up ({state.topology})", "weft-lab down removes it")
            if not told:
                progress(f"waiting for the lab of {state.topology} to be removed")
                told = True
            self.lock.release()
            time.sleep(1)
            self.lock.acquire(max(0.0, deadline - time.monotonic()), progress)
        return False

    def _forget(self, progress: Progress) -> None:
        cleanup.remove(progress)
        self._state = None

    @contextlib.contextmanager
    def _locked(self, wait_seconds: float, progress: Progress) -> Iterator[None]:
        if self.lock.held:
            yield
            return
        self.lock.acquire(wait_seconds, progress)
        try:
            yield
        finally:
            self.lock.release()

    @staticmethod
    def _write_env() -> None:
        ENV.write_text(f'export WEFT_URL="unix://{SOCKET}"\nexport PATH="{BIN.parent}/venv/bin:{BIN}:$PATH"\n')


def _digest(topology: Topology) -> str:
    return hashlib.sha256(topology.path.read_bytes()).hexdigest()


def _read_or_none() -> LabState | None:
    try:
        return LabState.read()
    except LabError:
        return None
