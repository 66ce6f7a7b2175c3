"""FRR as the agent configures it: two PEs, and between them a plain FRR as the route server.

This route server separates the PEs' routes by their site route targets and, when they share a pool, adds the other PE's
(it cannot replace them). No PE is reconfigured for that.
"""

import asyncio
import json
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.bgp.frr import Frr, FrrError, render
from agents.bgp.frr.vty import ask
from controller.wire.desired import Desired, Endpoint, Speaker
from controller.wire.flavours import Flavour
from lab.patience import eventually
from tests.integration.agent_namespaces import Namespace, cable, namespaces
from tests.unit.agents.bgp.frr.test_config import GOLDEN

pytestmark = pytest.mark.lab

SERVER = "10.99.0.254"
SECOND_SERVER = "10.99.0.253"
FRR = Path("/usr/lib/frr")

# FRR leaves directories in /var/tmp: its daemons get one of their own, in the mount namespace of `ip netns exec`.
PRIVATE = ["sh", "-c", 'mount --bind "$0" /var/tmp && exec "$@"']


class Daemons:
    """zebra and bgpd in a namespace, with default settings."""

    def __init__(self, space: Namespace, directory: Path) -> None:
        self._space, self.directory = space, directory
        directory.mkdir()
        frr = pwd.getpwnam("frr")
        os.chown(self.directory, frr.pw_uid, frr.pw_gid)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        (self.directory / "conf").mkdir()
        self.frr = Frr(self.directory, self.directory / "conf" / "frr.conf")

    def start(self, *names: str) -> None:
        own = [f"--vty_socket={self.directory}", f"-z{self.directory}/zserv.api", "-ufrr", "-gfrr", "-f/dev/null"]
        for name in names:
            argv = [*PRIVATE, str(self.directory), str(FRR / name), *own, f"-i{self.directory}/{name}.pid"]
            self._processes[name] = self._space.spawn(*argv, log=self.directory / f"{name}.log")
            socket = self.directory / f"{name}.vty"
            for _ in range(500):
                if socket.exists():
                    break
                assert self._processes[name].poll() is None, (self.directory / f"{name}.log").read_text()
                subprocess.run(["sleep", "0.02"], check=True)

    def kill(self, name: str) -> None:
        process = self._processes.pop(name)
        process.kill()
        process.wait()
        (self.directory / f"{name}.vty").unlink(missing_ok=True)

    async def show(self, command: str) -> str:
        return await ask(self.directory / "bgpd.vty", command)

    async def release(self) -> int:
        """Return FRR's major version."""
        return int((await self.show("show version")).removeprefix("FRRouting ").split(".")[0])

    async def peers(self) -> dict[str, dict[str, int]]:
        """Return bgpd's figures about its EVPN peers, by address."""
        summary = json.loads(await self.show("show bgp l2vpn evpn summary json"))
        return dict(summary.get("peers", {}))


def endpoint(site: int, lan: int = 1) -> Endpoint:
    return Endpoint(
        name=f"e{site}",
        index=lan,
        flavour=Flavour.EVPN,
        prefix=f"10.{site}.0.0/24",
        gateway=f"10.{site}.0.1",
        ports=[],
        rt=f"65000:{site}",
        rd=f"65000:{site}",
        ve_id=None,
        vni=9999 + lan,
        vtep="",
        mtu=1450,
        lease_seconds=600,
        remotes=[],
    )


def desired(vtep: str, *endpoints: Endpoint, speakers: tuple[str, ...] = (SERVER,)) -> Desired:
    return Desired(
        version=1,
        generation=1,
        cloudlet="ada",
        asn=65000,
        router_id=vtep,
        vtep=vtep,
        speakers=[Speaker(name=f"rs-{address}", address=address, asn=65000) for address in speakers],
        endpoints=list(endpoints),
    )


class Pe:
    """A cloudlet's host: a VTEP address on lo, a default route as the only path to the others, one LAN with one
    machine."""

    def __init__(self, number: int, host: Namespace, machine: Namespace, wan: Namespace, run: Path) -> None:
        self.vtep, self.host, self.machine = f"10.99.0.{number}", host, machine
        cable(wan, f"pe{number}", host, "wan0")
        wan.run(f"ip addr add 100.64.{number}.1/24 dev pe{number}")
        wan.run(f"ip route add {self.vtep}/32 via 100.64.{number}.2")
        host.run(f"ip addr add 100.64.{number}.2/24 dev wan0")
        host.run(f"ip addr add {self.vtep}/32 dev lo")
        host.run(f"ip route add default via 100.64.{number}.1")
        self.lan(1)
        cable(host, "md1", machine, "eth0")
        host.run("ip link set md1 master lan1")
        host.run(f"ip addr add 10.50.{number}.1/24 dev lan1")
        machine.run(f"ip addr add 10.50.0.{number}/24 dev eth0")
        self.daemons = Daemons(host, run / f"pe{number}")
        self.daemons.start("zebra", "bgpd")

    def lan(self, number: int) -> None:
        """Create a bridge and its VXLAN device."""
        bridge, vxlan = f"lan{number}", f"vx{number}"
        self.host.run(f"ip link add {bridge} type bridge")
        self.host.run(f"ip link set {bridge} up")
        self.host.run(f"ip link add {vxlan} type vxlan id {9999 + number} local {self.vtep} dstport 4789 nolearning")
        self.host.run(f"ip link set {vxlan} master {bridge}")
        self.host.run(f"ip link set {vxlan} up")

    def no_lan(self, number: int) -> None:
        self.host.run(f"ip link del vx{number}")
        self.host.run(f"ip link del lan{number}")

    async def apply(self, *endpoints: Endpoint, speakers: tuple[str, ...] = (SERVER,)) -> bool:
        return await self.daemons.frr.apply(render(desired(self.vtep, *endpoints, speakers=speakers)))


class Region:
    """Two PEs and the route server's host, which is also the network between them."""

    def __init__(self, spaces: list[Namespace], run: Path) -> None:
        self.wan, *rest = spaces
        self.wan.run("sysctl -qw net.ipv4.ip_forward=1")
        for address in (SERVER, SECOND_SERVER):
            self.wan.run(f"ip addr add {address}/32 dev lo")
        self.pes = [Pe(1, rest[0], rest[1], self.wan, run), Pe(2, rest[2], rest[3], self.wan, run)]
        self.server = Daemons(self.wan, run / "server")
        self.server.start("zebra", "bgpd")

    async def serve(self) -> None:
        """Start the route server, which reflects all routes to all PEs."""
        lines = ["router bgp 65000", f"bgp router-id {SERVER}", "no bgp default ipv4-unicast"]
        lines += ["bgp route-reflector allow-outbound-policy"]
        for pe in self.pes:
            lines += [f"neighbor {pe.vtep} remote-as 65000", f"neighbor {pe.vtep} passive"]
        lines.append("address-family l2vpn evpn")
        for pe in self.pes:
            lines += [f"neighbor {pe.vtep} activate", f"neighbor {pe.vtep} route-reflector-client"]
        await self.server.frr.resolve_next_hops()
        await ask(self.server.directory / "bgpd.vty", "configure terminal", *lines)

    async def sign(self, pe: Pe, key: str | None) -> None:
        """Sign the route server's end of a session (TCP-MD5), or stop signing it."""
        word = f"neighbor {pe.vtep} password {key}" if key else f"no neighbor {pe.vtep} password"
        await ask(self.server.directory / "bgpd.vty", "configure terminal", "router bgp 65000", word)

    async def pool(self, joined: bool) -> None:
        """Put both sites into one pool, or take them out of it."""
        lines = []
        for number, pe in enumerate(self.pes, 1):
            lines += [f"route-map to-{number} permit 10", f"set extcommunity rt 65000:{number}", "exit"]
            no = "" if joined else "no "
            lines += [
                "router bgp 65000",
                "address-family l2vpn evpn",
                f"{no}neighbor {pe.vtep} route-map to-{number} out",
            ]
            lines += ["exit", "exit"]
        await ask(self.server.directory / "bgpd.vty", "configure terminal", *lines)


@pytest.fixture(scope="module")
def region() -> Iterator[Region]:
    run = Path(tempfile.mkdtemp(prefix="weft-agx-"))  # not pytest's own directory: the user frr must get at it
    run.chmod(0o755)
    try:
        with namespaces("wan", "pe1", "host1", "pe2", "host2") as spaces:
            yield Region(spaces, run)
    finally:
        shutil.rmtree(run)


async def established(daemons: Daemons, *addresses: str) -> None:
    async def look() -> bool:
        return await daemons.frr.sessions() == dict.fromkeys(addresses, "established")

    await eventually(look, f"sessions with {addresses}")


def config_lines(text: str) -> set[str]:
    return {line.strip() for line in text.splitlines()} - {"", "!"}


@pytest.mark.smoke
@pytest.mark.parametrize("golden", sorted(GOLDEN.iterdir()), ids=lambda path: path.stem)
async def test_bgpd_takes_what_is_rendered(region: Region, golden: Path) -> None:
    daemons = region.pes[0].daemons
    await daemons.frr.apply(golden.read_text())
    wanted, running = config_lines(golden.read_text()), config_lines(await daemons.show("show running-config"))
    assert wanted <= running
    extra = {line for line in running - wanted if not line.startswith(("!", "frr ", "hostname "))}
    assert not extra, "nothing is left of what ran before"
    assert await daemons.frr.apply(golden.read_text()) is False


async def test_nothing_runs_when_nothing_differs(region: Region, monkeypatch: pytest.MonkeyPatch) -> None:
    pe = region.pes[0]
    await pe.apply(endpoint(1))

    async def refuse(*argv: object, **options: object) -> None:
        raise AssertionError(argv)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", refuse)
    assert await pe.apply(endpoint(1)) is False
    with pytest.raises(AssertionError, match="frr-reload"):
        await pe.apply(endpoint(1), endpoint(3, 2))


@pytest.mark.smoke
async def test_a_join_and_a_leave_need_no_word_to_the_pes(region: Region) -> None:
    one, two = region.pes
    await one.apply(endpoint(1))
    await two.apply(endpoint(2))
    await region.serve()
    for pe in region.pes:
        await established(pe.daemons, SERVER)
    assert not pings(one.machine, 3)
    await region.pool(joined=True)
    await eventually(lambda: pings(one.machine, 1), "reach each other")
    assert flooded_to(one) == {two.vtep}
    assert two.host.mac("lan1").hex(":") in one.host.run("bridge fdb show dev vx1"), (
        "gateways are known, not flooded to"
    )
    await region.pool(joined=False)
    await eventually(lambda: not flooded_to(one) and not flooded_to(two), "apart")
    assert not pings(one.machine, 1)
    assert await one.apply(endpoint(1)) is False


async def test_another_lan_or_route_server_disturbs_nothing(region: Region, tmp_path: Path) -> None:
    one, two = region.pes
    await one.apply(endpoint(1))
    await two.apply(endpoint(2))
    await region.serve()
    await region.pool(joined=True)
    for pe in region.pes:
        await established(pe.daemons, SERVER)
    await eventually(lambda: pings(one.machine, 1), "reach each other")
    before = (await one.daemons.peers())[SERVER]
    log = tmp_path / "ping"
    stream = one.machine.spawn("ping", "-i", "0.01", "-q", "10.50.0.2", log=log)
    assert await one.apply(endpoint(1), endpoint(3, 2)) is True
    one.lan(2)
    assert await one.apply(endpoint(1), endpoint(3, 2), speakers=(SERVER, SECOND_SERVER)) is True
    assert await one.apply(endpoint(1), endpoint(3, 2)) is True
    one.no_lan(2)
    assert await one.apply(endpoint(1)) is True
    again = Frr(one.daemons.directory, one.daemons.directory / "conf" / "frr.conf")
    assert await again.apply(render(desired(one.vtep, endpoint(1)))) is False, (
        "an agent that starts anew changes nothing"
    )
    stream.send_signal(2)
    await asyncio.to_thread(stream.wait, 5)
    assert " 0% packet loss" in log.read_text(), log.read_text()
    after = (await one.daemons.peers())[SERVER]
    assert [after[key] for key in ("connectionsEstablished", "connectionsDropped")] == [
        before[key] for key in ("connectionsEstablished", "connectionsDropped")
    ]


async def test_a_new_endpoint_is_announced_with_its_own_rd_and_rt(region: Region) -> None:
    one = region.pes[0]
    await one.apply(endpoint(1), endpoint(3, 2))
    one.lan(2)
    await eventually(lambda: announces(one, "65000:3"), "announced")
    routes = await one.daemons.show("show bgp l2vpn evpn route rd 65000:3")
    assert f"[{one.vtep}]" in routes
    assert "RT:65000:3" in routes
    assert "RT:65000:10001" not in routes
    one.no_lan(2)
    await one.apply(endpoint(1))


async def announces(pe: Pe, rd: str) -> bool:
    return f"Route Distinguisher: {rd}" in await pe.daemons.show("show bgp l2vpn evpn route")


async def test_a_daemon_that_starts_anew_is_configured_anew(region: Region) -> None:
    one = region.pes[0]
    await one.apply(endpoint(1))
    for name in ("bgpd", "zebra"):
        one.daemons.kill(name)
        with pytest.raises(FrrError, match=rf"{name}\.vty: No such file or directory; is {name} running\?"):
            await one.apply(endpoint(1))
        one.daemons.start(name)
        unasked = name == "zebra" and await one.daemons.release() >= 10  # it resolves by the default route by itself
        assert await one.apply(endpoint(1)) is not unasked
        assert await one.apply(endpoint(1)) is False


async def test_a_refusal_says_what(region: Region) -> None:
    daemons = region.pes[0].daemons
    before = await daemons.show("show running-config")
    with pytest.raises(FrrError, match=r"refused .*/frr.conf: ERROR: vtysh .*line 2: % Unknown command:  fnord"):
        await daemons.frr.apply("router bgp 65000\n fnord\n")
    assert await daemons.show("show running-config") == before


def test_the_machines_own_frr_is_left_alone() -> None:
    assert not [
        path
        for path in Path("/etc/frr").iterdir()
        if path.stat().st_mtime > Path(f"/proc/{os.getpid()}").stat().st_mtime
    ]


def pings(machine: Namespace, count: int) -> bool:
    return f" {count} received" in machine.run(f"ping -c {count} -i 0.1 -W 1 10.50.0.2", check=False)


def flooded_to(pe: Pe) -> set[str]:
    entries = json.loads(pe.host.run("bridge -j fdb show dev vx1"))
    return {entry["dst"] for entry in entries if entry["mac"] == "00:00:00:00:00:00"}
