"""Two sites with VTEPs and a real charon each, in namespaces; a wire between them, and VXLAN over it.

The underlay routes from VTEP to VTEP in the clear, so that traffic outside of a tunnel would arrive and be seen.
"""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agents.identity import x509 as agent_x509
from agents.identity.identity import CERTIFICATE, CHAIN, CRL, KEY
from agents.ipsec import TunnelIntent, TunnelPeer
from agents.ipsec.connections import PREFIX, PROOF
from agents.ipsec.daemon import configuration
from agents.ipsec.guard import guard
from agents.ipsec.strongswan import Strongswan
from agents.nft import Nft
from controller.trust import x509
from controller.trust.authority import Reason, Revoked
from controller.wire.certificates import Certified
from tests.integration.agent_namespaces import Namespace, cable, namespaces, wait_for

CHARON = Path("/usr/lib/ipsec/charon")
VTEPS = {"c1": "192.0.2.1", "c2": "192.0.2.2"}
LAN = {"c1": "172.16.0.1", "c2": "172.16.0.2"}
Lay = Callable[[Namespace, str, Namespace, str], None]

GUARD = guard()

PLAIN = "udp port 4789"
"""The traffic that must never be on the wire (pcap-filter)."""


def usable() -> str | None:
    """Return the reason why these tests cannot run here; None if they can."""
    if os.geteuid() != 0:
        return "needs root"
    if not CHARON.exists() or not Path("/dev/net/tun").exists():
        return "needs strongSwan's charon and /dev/net/tun"
    return None if all(map(shutil.which, ("nft", "tcpdump"))) else "needs nft and tcpdump"


def charon(directory: Path) -> list[str]:
    """Return the command line of a charon with its files in that directory, and its socket as `charon.vici`. It has a
    /run of its own, as the path of its pid file is compiled in."""
    run, vici, conf = directory / "run", directory / "charon.vici", directory / "strongswan.conf"
    run.mkdir(parents=True, exist_ok=True)
    conf.write_text(configuration(vici, kernel=False, log=directory / "charon.log"))
    vici.unlink(missing_ok=True)
    (run / "charon.pid").unlink(missing_ok=True)
    script = f"mount --make-rprivate / && mount --bind {run} /run && exec chrt --rr 1 {CHARON}"
    return ["env", f"STRONGSWAN_CONF={conf}", "unshare", "-m", "sh", "-c", script]


class Authority:
    """A certificate authority like the controller's."""

    def __init__(self, name: str = "ca") -> None:
        self._now, year = datetime.now(UTC), timedelta(days=365)
        above = x509.Signer(key := x509.new_key(), x509.root(key, name, self._now, year))
        below = x509.intermediate(above, key := x509.new_key(), name, self._now, year)
        self._signer = x509.Signer(key, below)
        self.chain = x509.pem(below, above.certificate)
        self._serials: dict[str, str] = {}
        self._revoked: list[Revoked] = []

    def certify(self, cloudlet: str, csr: str, address: str) -> Certified:
        """Issue a certificate as the controller does for an agent."""
        request, tomorrow = x509.read_request(csr), self._now + timedelta(days=1)
        issued = x509.leaf(self._signer, request, cloudlet, address, self._now, tomorrow)
        self._serials[cloudlet] = issued.serial
        return Certified(certificate=issued.certificate, chain=self.chain)

    def issue(self, cloudlet: str, identity: Path, vtep: str | None = None) -> None:
        """Write the cloudlet's credentials, each file replaced as a whole."""
        identity.mkdir(parents=True, exist_ok=True)
        key = agent_x509.new_key()
        certified = self.certify(cloudlet, agent_x509.request(key, cloudlet), vtep or VTEPS.get(cloudlet, "192.0.2.9"))
        for name, text in ((KEY, key), (CERTIFICATE, certified.certificate), (CHAIN, certified.chain)):
            fresh = identity / f"{name}.new"
            fresh.write_text(text)
            fresh.replace(identity / name)

    def revoke(self, cloudlet: str, *told: Path) -> None:
        """Revoke a cloudlet's latest certificate, and write the revocation list to the directories in `told`."""
        at = datetime.now(UTC)
        self._revoked.append(Revoked(self._serials[cloudlet], at, Reason.COMPROMISED))
        crl = x509.crl(self._signer, self._revoked, at, timedelta(days=1))
        for identity in told:
            (identity / CRL).write_text(crl)


class Site:
    """A cloudlet's underlay, charon, and VXLAN device towards the other site."""

    def __init__(self, name: str, space: Namespace, directory: Path) -> None:
        self.name, self.space, self.directory = name, space, directory
        self.vtep, self.vici, self.identity = VTEPS[name], directory / "charon.vici", directory / "identity"
        self.other = next(n for n in VTEPS if n != name)
        self.changes = 0
        self.tunnels = Strongswan(self.vici, self.identity, self._count)
        self._charon: subprocess.Popen[bytes] | None = None
        directory.mkdir()

    def _count(self) -> None:
        self.changes += 1

    def start(self) -> None:
        """Starts charon."""
        self._charon = self.space.spawn(*charon(self.directory), log=self.directory / "stdout")

    @property
    def pid(self) -> int:
        """charon's process id."""
        assert self._charon is not None
        return self._charon.pid

    def kill(self) -> None:
        assert self._charon is not None
        self._charon.send_signal(signal.SIGKILL)
        self._charon.wait()

    def pause(self) -> None:
        """Suspend charon: it exists and does not answer any more."""
        assert self._charon is not None
        self._charon.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._charon is not None
        self._charon.send_signal(signal.SIGCONT)

    def want(self, *peers: str) -> None:
        """Set the wanted tunnels, as the desired state would."""
        self.tunnels.intend(TunnelIntent(self.name, self.vtep, tuple(TunnelPeer(p, VTEPS[p]) for p in peers)))

    async def guard(self, text: str = GUARD) -> None:
        with self.space.entered():
            await Nft().apply(text)

    @property
    def up(self) -> bool:
        return any(state.up for state in self.tunnels.states.values())

    def reaches(self, count: int = 3, size: int = 56) -> int:
        """Return the number of pings over VXLAN that are answered."""
        text = self.space.run(f"ping -n -c {count} -i 0.05 -W 1 -s {size} -M do {LAN[self.other]}", check=False)
        return text.count("bytes from")

    def ask(self, words: str) -> str:
        """Run swanctl at this charon; return its output."""
        return self.space.run(f"swanctl {words} --uri unix://{self.vici}", check=False)

    def down(self) -> bool:
        return not self.up

    def answered(self) -> bool:
        return self.reaches(1) == 1

    def loaded(self) -> bool:
        """Return whether charon has a connection of Weft's."""
        return "weft-" in self.ask("--list-conns")

    def renewed(self) -> bool:
        """Return whether charon has received a second key."""
        return self.log().count("private key") == 2

    def idle(self) -> bool:
        """Return whether charon has neither connections nor SAs of Weft's."""
        found = self.ask("--list-conns") + self.ask("--list-sas")
        return PREFIX not in found and PROOF not in found

    def heard(self) -> int:
        """Return the number of frames that came out of the VXLAN device."""
        return int(self.space.run("cat /sys/class/net/vx7/statistics/rx_packets"))

    def keys(self) -> set[str]:
        """Return the SPIs of all SAs."""
        return set(re.findall(r"(?:in|out)  ?([0-9a-f]{8}),", self.ask("--list-sas")))

    def log(self) -> str:
        return (self.directory / "charon.log").read_text()


class Sites:
    """Both sites, and the traffic on the wire between them."""

    def __init__(self, spaces: list[Namespace], directory: Path, lay: Lay = cable) -> None:
        self.one, self.two = (Site(name, space, directory / name) for name, space in zip(VTEPS, spaces, strict=True))
        self.authority = Authority()
        self._keeping: dict[str, asyncio.Task[None]] = {}
        lay(spaces[0], "wan0", spaces[1], "wan0")
        for number, site in enumerate((self.one, self.two), start=1):
            run = site.space.run
            run(f"ip link set wan0 address 02:00:00:00:00:0{number}")
            run(f"ip addr add 198.18.0.{number}/24 dev wan0")
            run(f"ip addr add {site.vtep}/32 dev lo")
            run(f"ip neigh replace 198.18.0.{3 - number} lladdr 02:00:00:00:00:0{3 - number} dev wan0")
            # This route remains when a tunnel's own route has gone, and would send everything in the clear.
            run(f"ip route add {VTEPS[site.other]}/32 via 198.18.0.{3 - number}")
            vxlan = f"type vxlan id 7 local {site.vtep} remote {VTEPS[site.other]} dstport 4789"
            run(f"ip link add vx7 mtu 1350 {vxlan}")
            run("ip link set vx7 up")
            run(f"ip addr add {LAN[site.name]}/24 dev vx7")
            # Static neighbours instead of ARP: a site without answers continues to send.
            run(f"ip link set vx7 address 02:00:00:00:07:0{number}")
            run(f"ip neigh replace {LAN[site.other]} lladdr 02:00:00:00:07:0{3 - number} dev vx7")
            self.authority.issue(site.name, site.identity)

    async def begin(self, guard: str) -> None:
        for site in (self.one, self.two):
            await site.guard(guard)
            site.start()
            self._keeping[site.name] = asyncio.create_task(site.tunnels.run())

    async def again(self, site: Site) -> None:
        """Restart a site's agent: a new one without memory takes over charon as it is."""
        await self._stop(self._keeping.pop(site.name))
        site.tunnels = Strongswan(site.vici, site.identity, lambda: None)
        site.want(site.other)
        self._keeping[site.name] = asyncio.create_task(site.tunnels.run())
        await eventually("taken over", lambda: site.up)

    async def end(self) -> None:
        for task in self._keeping.values():
            await self._stop(task)

    async def _stop(self, task: asyncio.Task[None]) -> None:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    async def both_up(self, seconds: float = 15.0) -> None:
        """Wait until both sites have their tunnel."""
        await eventually("both tunnels up", lambda: self.one.up and self.two.up, seconds)

    @contextmanager
    def chatter(self, interval: float = 0.02) -> Iterator[dict[str, tuple[int, int]]]:
        """Let both sites ping each other over VXLAN during the block, also without an answer. The yielded dictionary
        then has, by site, the pings that were answered, and those that were lost although a later one was answered."""
        talking = {
            s: s.space.spawn("ping", "-n", "-i", str(interval), LAN[s.other], log=s.directory / "ping")
            for s in (self.one, self.two)
        }
        counted: dict[str, tuple[int, int]] = {}
        try:
            yield counted
        finally:
            for site, process in talking.items():
                process.send_signal(signal.SIGINT)
                process.wait()
                answers = re.findall(r"bytes from .* icmp_seq=(\d+)", (site.directory / "ping").read_text())
                answered = {int(sequence) for sequence in answers}
                counted[site.name] = len(answered), max(answered, default=0) - len(answered)

    @contextmanager
    def wire(self, expression: str) -> Iterator[list[str]]:
        """Capture the matching packets on the wire during the block; the yielded list of tcpdump's lines is complete
        afterwards."""
        pcap = self.one.directory / f"wire.{len(expression)}.pcap"
        log = pcap.with_suffix(".log")
        words = ("-i", "wan0", "-n", "-s", "128", "-U", "--immediate-mode", "-Z", "root", "-w", str(pcap), expression)
        listening = self.one.space.spawn("tcpdump", *words, log=log)
        wait_for("tcpdump", lambda: "listening" in log.read_text())
        seen: list[str] = []
        try:
            yield seen
        finally:
            time.sleep(0.1)
            listening.send_signal(signal.SIGINT)
            listening.wait()
            shown = ["tcpdump", "-n", "-r", str(pcap)]
            seen += subprocess.run(shown, capture_output=True, text=True, check=True).stdout.splitlines()


async def eventually(what: str, look: Callable[[], object], seconds: float = 10.0) -> float:
    """Wait until `look` returns something, and let the tunnels work meanwhile. Returns the seconds that it took."""
    began = time.monotonic()
    while not look():
        assert time.monotonic() - began < seconds, f"{what}: not within {seconds} s"
        await asyncio.sleep(0.02)
    return time.monotonic() - began


@asynccontextmanager
async def sites(directory: Path, guard: str = GUARD, lay: Lay = cable) -> AsyncIterator[Sites]:
    """Yield both sites with charon running and the guard installed; no tunnels are wanted yet. `lay` makes the wire."""
    with namespaces("one", "two") as spaces:
        made = Sites(spaces, directory, lay)
        try:
            await made.begin(guard)
            yield made
        finally:
            await made.end()
