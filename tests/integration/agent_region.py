"""A small region for agents' tests: PEs and devices in network namespaces `weft-agv-*`, real gobgpd, and a pair of
route servers in the middle. Their controller is `stub_controller.py`."""

import contextlib
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from controller.wire.rulesets import Endpoint as Member
from controller.wire.rulesets import Peer, RuleSet, Vcp
from lab import netns
from lab.ping import PingStream
from lab.thread_netns import within
from tests import sandbox

ROOT = Path(__file__).parents[2]
PREFIX = "weft-agv-"
GOBGPD, ROUTE_SERVER = ROOT / "build/bin/gobgpd", ROOT / "build/bin/weft-routeserver"
CORE, ROUTE_SERVERS, STUB = "10.98.0.254", ("10.98.0.253", "10.98.0.252"), ("10.98.0.254", 8080)
ASN, CONTROL_PORT = 65000, 9179
TAIL = 0.2
"""Seconds for which a stream of pings goes on after its end: longer than a ping takes on a busy machine."""


def usable() -> str | None:
    """Return the reason why these tests cannot run here; None if they can."""
    if os.geteuid() != 0:
        return "needs root"
    if not (GOBGPD.exists() and ROUTE_SERVER.exists()):
        return "needs build/bin/gobgpd and build/bin/weft-routeserver (make build)"
    return None if shutil.which("nft") and shutil.which("ip") else "needs ip and nft"


def run(*words: str, namespace: str | None = None, check: bool = True) -> str:
    command = ["ip", "netns", "exec", PREFIX + namespace, *words] if namespace else list(words)
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def inside(
    namespace: str, make: Callable[[socket.socket], object], new: Callable[[], socket.socket] = socket.socket
) -> socket.socket:
    """Return a socket of a namespace for use in this one (TCP unless `new` makes another kind). `make` binds or
    connects it."""

    def work() -> socket.socket:
        fresh = new()
        try:
            make(fresh)
        except OSError:
            fresh.close()
            raise
        return fresh

    return within(Path(f"/run/netns/{PREFIX}{namespace}"), work)


class Region:
    """The namespaces and processes. `close()` removes all of them, whatever their state."""

    def __init__(self, directory: Path, sites: int) -> None:
        self.directory, self.sites = directory, range(1, sites + 1)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.close()
        self._underlay()
        for number in self.sites:
            self._site(number)
        (directory / "control").write_text("control-token")
        for number in (1, 2):
            self.start_route_server(number)
        for number in self.sites:
            self.start_gobgpd(number)

    def _underlay(self) -> None:
        self._namespace("core")
        core = ["ip", "-n", PREFIX + "core"]
        run(*core, "link", "add", "core", "type", "bridge")
        for address in (CORE, *ROUTE_SERVERS):
            run(*core, "addr", "add", f"{address}/24", "dev", "core")
        run(*core, "link", "set", "core", "up")

    def _site(self, n: int) -> None:
        for name in (f"pe{n}", f"md{n}"):
            self._namespace(name)
        core, pe, md = (["ip", "-n", f"{PREFIX}{name}"] for name in ("core", f"pe{n}", f"md{n}"))
        run(*core, "link", "add", f"u{n}", "type", "veth", "peer", "name", "eth0", "netns", f"{PREFIX}pe{n}")
        run(*core, "link", "set", f"u{n}", "master", "core", "up")
        run(*pe, "addr", "add", f"{vtep(n)}/24", "dev", "eth0")
        run(*pe, "link", "set", "eth0", "up")
        run(*pe, "link", "add", "md0", "type", "veth", "peer", "name", "eth0", "netns", f"{PREFIX}md{n}")
        run(*md, "addr", "add", f"10.{n}.0.2/24", "dev", "eth0")
        run(*md, "link", "set", "eth0", "mtu", "1450", "up")
        run(*md, "route", "add", "default", "via", f"10.{n}.0.1")

    def _namespace(self, name: str) -> None:
        run("ip", "netns", "add", PREFIX + name)
        run("sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0", namespace=name)
        run("ip", "-n", PREFIX + name, "link", "set", "lo", "up")

    def start(self, name: str, namespace: str, *words: str) -> None:
        log = (self.directory / f"{name}.log").open("ab")
        environment = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'build/gobgpapi'}"}
        command = ["ip", "netns", "exec", PREFIX + namespace, *words]
        with log:
            self.processes[name] = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment, cwd=self.directory
            )

    def stop(self, name: str, sign: int = signal.SIGTERM) -> None:
        process = self.processes.pop(name)
        process.send_signal(sign)
        process.wait(10)

    def start_route_server(self, number: int) -> None:
        name, address = f"rs{number}", ROUTE_SERVERS[number - 1]
        where = ("--listen", f"{address}:179", "--control", f"{address}:{CONTROL_PORT}", "--router-id", address)
        files = ("--token-file", str(self.directory / "control"), "--state", str(self.directory / name))
        self.start(name, "core", str(ROUTE_SERVER), "--name", name, *where, *files, "--confirm-wait", "100ms")

    def rules(self, generation: int, *pools: set[str], further: tuple[Member, ...] = ()) -> None:
        """Give both route servers a rule set: one endpoint for each site, `further` endpoints, and pools of
        endpoints."""
        rules = RuleSet(
            generation=generation,
            peers=[Peer(name=f"c{n}", address=vtep(n), asn=ASN) for n in self.sites],
            endpoints=sorted((*(member(f"e{n}", n, n) for n in self.sites), *further), key=lambda m: m.name),
            vcps=[Vcp(name=f"pool{i}", members=sorted(pool)) for i, pool in enumerate(pools)],
        )
        for address in ROUTE_SERVERS:
            self._put(address, rules.model_dump_json())

    def _put(self, address: str, document: str) -> None:
        deadline = time.monotonic() + 5
        while True:
            try:
                connected = inside("core", lambda fresh: fresh.connect((address, CONTROL_PORT)))
                break
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
        connection = http.client.HTTPConnection(address, CONTROL_PORT)
        connection.sock = connected
        headers = {"Authorization": "Bearer control-token", "Content-Type": "application/json"}
        connection.request("PUT", "/v1/ruleset", body=document, headers=headers)
        with contextlib.closing(connection), connection.getresponse() as response:
            assert response.status == 200, response.read()

    def start_gobgpd(self, n: int) -> None:
        self._gobgp_socket(n).unlink(missing_ok=True)
        self.start(f"gobgpd{n}", f"pe{n}", str(GOBGPD), "--api-hosts", self.gobgp_api(n), "-l", "warn")

    def _gobgp_socket(self, n: int) -> Path:
        return self.directory / f"gobgpd{n}.sock"

    def gobgp_api(self, n: int) -> str:
        """Return the address of the API of a PE's gobgpd."""
        return f"unix://{self._gobgp_socket(n)}"

    def start_agent(self, n: int, further: str = "") -> None:
        """Start an agent with the limits of its systemd unit. `further` is added to its configuration."""
        name, state = f"c{n}", self.directory / f"state{n}"
        token, config = self.directory / f"token{n}", self.directory / f"agent{n}.toml"
        token.write_text(f"token-{name}\n")
        config.write_text(
            f'cloudlet = "{name}"\ncontroller = "http://{STUB[0]}:{STUB[1]}"\n'
            f'token_file = "{token}"\nstate_dir = "{state}"\n{further}\n'
            f'[gobgp]\napi = "{self.gobgp_api(n)}"\n'
        )
        program = (sys.executable, "-m", "agents.main", "run", "--config", str(config))
        self.start(f"agent{n}", f"pe{n}", *sandbox.command("weft-agent", *program))

    def log(self, name: str) -> str:
        return (self.directory / f"{name}.log").read_text()

    def close(self) -> None:
        for name in list(self.processes):
            with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                self.stop(name, signal.SIGKILL)
        for line in run("ip", "netns", "list").splitlines():
            if (name := line.split()[0]).startswith(PREFIX):
                run("ip", "netns", "del", name, check=False)


def member(name: str, site: int, number: int) -> Member:
    """Return an endpoint as route servers know it: at that site, with that site number."""
    return Member(name=name, peer=f"c{site}", family="l2vpn-vpls", rt=target(number), rd=target(number))


def target(n: int) -> str:
    return f"{ASN}:{n}"


def vtep(n: int) -> str:
    return f"10.98.0.{n}"


@contextlib.contextmanager
def pinging(source: str, address: str, interval: float = 0.02) -> Iterator[Callable[[], tuple[int, int]]]:
    """Ping continuously in the block. The yielded function, called once at the end, returns (sent, received). Pings
    that are sent after this call do not count, since some are still under way when the stream is stopped."""
    with PingStream((PREFIX + source).removeprefix(netns.PREFIX), address, interval) as stream:

        def finish() -> tuple[int, int]:
            time.sleep(TAIL)
            result = stream.stop(grace=TAIL)
            print(
                f"lost of {result.sent}, seconds before the end:", [round(time.time() - at, 2) for at in result.lost_at]
            )
            return len(result.replies) + result.lost, len(result.replies)

        yield finish


@contextlib.contextmanager
def monitoring(namespace: str, *words: str) -> Iterator[Callable[[], list[str]]]:
    """Run `ip monitor` or `bridge monitor` in the block. The yielded function, called once at the end, returns the
    output by line."""
    command = ["ip", "netns", "exec", PREFIX + namespace, *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def finish() -> list[str]:
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        return process.communicate(timeout=10)[0].splitlines()

    time.sleep(0.3)
    try:
        yield finish
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
