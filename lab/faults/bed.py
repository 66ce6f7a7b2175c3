"""The region that all cases share: built once, and repaired before each case."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from lab import work
from lab.errors import LabError
from lab.faults.census import DEVICE, POOL, VM
from lab.faults.harm import ELSEWHERE, HOME
from lab.guests.build import build
from lab.paths import GUESTS, LAB, ROOT
from lab.patience import until
from lab.region import Region
from lab.rest import Json, Rest
from lab.walk import walk

TOPOLOGY = ROOT / "lab/topologies/faults.yaml"
ENDS = ("c1", "c2")
DATABASE = LAB / "controller" / "weft.db"
"""The controller's database."""
DOWN, UP = 500_000, 100_000
"""Bytes a second of the device's connection."""

MEMORY = ("memory", "start", "mib=16", "rate=1")
HEAVY = ("memory", "start", "mib=64", "rate=200")
DISK = ("disk", "start", "mib=8", "rate=1")


class Bed:
    """The region. The VM is at c1 or c2, its device at c3. The pool has the LANs of the VM's cloudlet and of the two
    where the device may be, so the destination of every move has to join, and has to leave again if the move is
    undone."""

    def __init__(self, region: Region, rest: Rest) -> None:
        self.region, self.rest = region, rest

    @classmethod
    @contextmanager
    def made(cls) -> Iterator["Bed"]:
        """Build the region, and remove it at the end."""
        build(GUESTS)
        region = Region.load(TOPOLOGY)
        with region.occupied(), Rest(timeout=60) as rest:
            region.build(print)
            region.enrol(print)
            region.apply_policy(print)
            rest.post("/vcps", {"name": POOL, "flavour": "vpls"})
            for cloudlet in (ENDS[0], HOME, ELSEWHERE):
                rest.post(f"/vcps/{POOL}/members", {"endpoint": f"{cloudlet}-lan"})
            region.lease(print)
            region.boot(print)
            region.execute(DEVICE, ["ip", "mptcp", "limits", "set", "subflows", "8", "add_addr_accepted", "8"])
            yield cls(region, rest)

    @property
    def vm(self) -> Json:
        """The VM as the controller shows it."""
        return self.rest.get(f"/vms/{VM}")

    def ends(self) -> tuple[str, str]:
        """Return the source and the destination of its next move."""
        here = str(self.vm["cloudlet"])
        return here, ENDS[0] if here == ENDS[1] else ENDS[1]

    def settle(self, seconds: float = 120) -> None:
        """Start daemons that do not run, and wait until nothing is under way any more. Raises LabError if that does not
        happen."""
        for name, process in self.region.processes.items():
            if not process.alive() and name != "wan":
                process.start()
        until(self.rest.ready, "the controller is ready", 30, pause=0.1)
        for cloudlet in self.region.topology.cloudlets:
            until(lambda at=cloudlet: self.rest.connected(at), f"the agent of {cloudlet.name} is there", 60, pause=0.1)  # type: ignore[misc]
        until(self._known, "both route servers have heard of all endpoints", 60, pause=0.1)
        until(self._over, "no move is under way, and nothing owed", seconds, pause=0.1)

    def prepare(self, heavy: bool = False) -> None:
        """Prepare the next move: the VM runs under an address of its own LAN and works, and nobody holds what the move
        needs."""
        self._device_home()
        vm = self.vm
        if vm["condition"] in ("gone", "stopped"):
            self.rest.post(f"/vms/{VM}/start")
            until(lambda: self.vm["condition"] == "running", f"{VM} runs", 120, pause=0.1)
        until(lambda: bool(self.vm["address"]), f"{VM} has an address", 60, pause=0.1)
        self._go_home()
        _, there = self.ends()
        if f"{there}-lan" in self.rest.get(f"/vcps/{POOL}")["members"]:
            self.rest.delete(f"/vcps/{POOL}/members/{there}-lan")
        for one in self.rest.items("/reservations"):
            self.rest.http.delete(f"/api/v1/reservations/{one['id']}")
        until(lambda: bool(self._ask(HEAVY if heavy else MEMORY)), f"{VM} answers", 60, pause=0.1)
        self._ask(DISK)

    def stream(self) -> work.Stream:
        """Return the device's connection with the VM."""
        where = str(self.vm["address"])
        stream = work.Stream(self.region.namespace(DEVICE), where, LAB / "faults.csv", down=DOWN, up=UP)
        deadline = time.monotonic() + 20
        while len(stream.series()) < 10:
            if time.monotonic() > deadline or not stream.runs:
                stream.kill()
                raise LabError(f"there is no connection with {VM} at {where}")
            time.sleep(0.05)
        return stream

    def checked(self) -> list[str]:
        """Return the errors in the VM's memory and disk."""
        found = []
        for what in ("memory", "disk"):
            try:
                if (answer := self._ask((what, "verdict"))).get("wrong"):
                    found.append(f"{what}: {answer}")
            except LabError as error:
                found.append(f"{what}: {error}")
        return found

    def _ask(self, words: tuple[str, ...]) -> Json:
        return work.ask(self.region.namespace(DEVICE), self.vm["address"], words)

    def _known(self) -> bool:
        heard = self.rest.announced()
        return all(
            heard.get((server, cloudlet.name), 0) >= len(cloudlet.endpoints)
            for server in self.region.topology.route_servers
            for cloudlet in self.region.topology.cloudlets
        )

    def _over(self) -> bool:
        moves = self.rest.items("/moves")
        return all(move["ended_at"] and move["step"] == "normal" for move in moves)

    def _go_home(self) -> None:
        """Move a VM that has kept an address of the other LAN back there."""
        vm, (_, there) = self.vm, self.ends()
        if vm["address"].startswith(f"10.{ENDS.index(there) + 1}."):
            name = self.rest.post("/moves", {"vm": VM, "endpoint": f"{there}-lan", "linger": 0})["name"]
            with suppress(LabError):  # the move's end tells more than that it was late
                until(lambda: bool(self.rest.get(f"/moves/{name}")["ended_at"]), f"{name} is over", 300, pause=0.1)
            move = self.rest.get(f"/moves/{name}")
            if (move["state"], move["address"]) != ("done", vm["address"]):
                raise LabError(f"{VM} has not gone back to where its address belongs: {move}")

    def _device_home(self) -> None:
        if f"l1-{DEVICE}" in self.region.execute(ELSEWHERE, ["ip", "-br", "link"], check=True).stdout:
            with suppress(LabError):
                walk(self.region, DEVICE, HOME)
        words = ["ip", "-4", "-br", "addr", "show", "dev", "eth0"]
        until(lambda: " 10.3." in self.region.execute(DEVICE, words).stdout, f"{DEVICE} has an address", 60, pause=0.1)
