"""PEs without an agent, which got what `weft cloudlet config` prints and nothing else: FRR, gobgpd, BIRD and ExaBGP
have sessions with real route servers, and learn each other's routes."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from lab.daemons import FRR
from lab.paths import BIN
from lab.patience import until
from lab.thread_netns import alone
from tests.integration.route_servers import World, free_port, running

pytestmark = pytest.mark.lab

R1, R2, R3, R4 = (f"198.51.100.{number}" for number in (3, 4, 5, 6))
NETWORK = "192.0.2"  # of the route servers: FRR takes no peer on 127.0.0.0/8
VNI = 10000
BESIDE = "weft-unmanaged-r1"


@pytest.fixture
def network() -> Iterator[None]:
    """Enter a network namespace that has all addresses but R1, which is beside it, with a VXLAN device for FRR."""
    here = [R2, R3, R4, f"{NETWORK}.1", f"{NETWORK}.2"]
    ip("netns", "add", BESIDE)
    try:
        with alone():
            ip("link", "add", "r1", "type", "veth", "peer", "name", "far", "netns", BESIDE)
            for words in (
                "link set lo up",
                "link set r1 up",
                "addr add 203.0.113.1/30 dev r1",
                f"route add {R1} via 203.0.113.2",
            ):
                ip(*words.split())
            for words in (
                "link set lo up",
                f"addr add {R1}/32 dev lo",
                "link set far up",
                "addr add 203.0.113.2/30 dev far",
                *(f"route add {address} via 203.0.113.1" for address in here),
                "link add br1 type bridge",
                f"link add vxlan1 type vxlan id {VNI} dstport 4789 local {R1} nolearning",
                "link set vxlan1 master br1 addrgenmode none",
                "link set vxlan1 up",
                "link set br1 up",
            ):
                ip("-n", BESIDE, *words.split())
            for address in here:
                ip("addr", "add", f"{address}/32", "dev", "lo")
            yield
    finally:
        ip("netns", "del", BESIDE)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@pytest.fixture
def region(tmp_path: Path, network: None) -> Iterator[World]:
    with running(World(tmp_path, standard=True, network=NETWORK)) as made:
        yield made


@pytest.fixture
def signed(tmp_path: Path, network: None) -> Iterator[World]:
    """Yield a region whose BGP sessions can be signed."""
    with running(World(tmp_path, signed=True, network=NETWORK)) as made:
        yield made


def add(region: World, name: str, pe: str, address: str, *, asn: int | None = None) -> None:
    """Add a PE with a LAN, which is in the pool of its kind."""
    region.weft(
        "cloudlet", "add", name, "--vtep", address, "--pe", pe, "--unmanaged", *(["--asn", str(asn)] if asn else [])
    )
    number = address.rpartition(".")[2]
    region.weft("endpoint", "add", f"{name}-lan", "--cloudlet", name, "--prefix", f"10.{number}.0.0/24")
    region.weft("vcp", "join", f"{pe}s", f"{name}-lan", code=None)


def config(region: World, name: str, dialect: str) -> str:
    return region.weft("cloudlet", "config", name, "--for", dialect).stdout


@contextmanager
def daemon(argv: Sequence[str], log: Path, **environment: str) -> Iterator[None]:
    with log.open("ab") as file:
        process = subprocess.Popen(argv, env=os.environ | environment, stdout=file, stderr=file)
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def frr(text: str, log: Path) -> Iterator[Callable[[str], str]]:
    """Run FRR with that configuration where R1 is; yield vtysh."""
    run = Path(tempfile.mkdtemp(prefix="weft-frr-", dir="/run"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, run, ignore_errors=True)
        (run / "zebra.conf").touch()
        (run / "bgpd.conf").write_text(text)
        for path in (run, *run.iterdir()):
            shutil.chown(path, "frr", "frr")
        # FRR keeps crash logs in /var/tmp.
        private = ["ip", "netns", "exec", BESIDE, "sh", "-c", 'mount --bind "$0" /var/tmp && exec "$@"', str(run)]
        for name in ("zebra", "bgpd"):
            argv = [*private, str(FRR / name), "-z", str(run / "zserv.api"), "--vty_socket", str(run), "-P", "0"]
            argv += ["-u", "frr", "-g", "frr", "--log", "stdout", "-i", str(run / f"{name}.pid")]
            stack.enter_context(daemon([*argv, "-f", str(run / f"{name}.conf")], log))
            until((run / f"{name}.vty").exists, f"{name} runs")

        def vtysh(command: str) -> str:
            argv = ["vtysh", "--vty_socket", str(run), "-c", command]
            return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

        yield vtysh


@contextmanager
def gobgpd(text: str, folder: Path) -> Iterator[Callable[[str], str]]:
    """Run gobgpd with that configuration, and the commands in it; yield gobgp."""
    path, port = folder / "gobgpd.toml", free_port()
    path.write_text(text)
    argv = [str(BIN / "gobgpd"), "-f", str(path), "--api-hosts", f"127.0.0.1:{port}", "--pprof-disable"]

    def gobgp(command: str) -> str:
        argv = [str(BIN / "gobgp"), "-p", str(port), *command.split()]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    with daemon(argv, folder / "gobgpd.log"):
        until(lambda: R2 in gobgp("global"), lambda: gobgp("global"))
        for line in text.splitlines():
            if line.startswith("#   gobgp "):
                said = gobgp(line.removeprefix("#   gobgp "))
                assert not said, said
        yield gobgp


def routes(region: World) -> dict[str, set[str]]:
    """Return the PEs whose routes each route server accepts."""
    return {
        server.name: {route["peer"] for route in server.get("/v1/routes", table="adj-in")["routes"]}
        for server in region.servers
    }


def both(*names: str) -> dict[str, set[str]]:
    return {"rs1": {*names}, "rs2": {*names}}


@pytest.mark.smoke
def test_frr_and_gobgpd_of_different_ases_learn_each_others_routes(region: World, tmp_path: Path) -> None:
    region.weft("vcp", "add", "evpns", "--flavour", "evpn")
    add(region, "r1", "evpn", R1, asn=64900)
    add(region, "r2", "evpn", R2)
    with (
        frr(config(region, "r1", "frr"), tmp_path / "frr.log") as vtysh,
        gobgpd(config(region, "r2", "gobgp"), tmp_path) as gobgp,
    ):
        until(lambda: routes(region) == both("r1", "r2"), lambda: (routes(region), vtysh("show bgp summary")), 60)
        until(lambda: f"[{R2}]" in vtysh("show bgp l2vpn evpn"), lambda: vtysh("show bgp l2vpn evpn"))
        until(lambda: R1 in gobgp("global rib -a evpn"), lambda: gobgp("global rib -a evpn"))
        assert f"{R2}" in vtysh(f"show evpn vni {VNI}"), "zebra floods there"
        diagnosis = region.json("doctor")
        assert diagnosis["ok"] and diagnosis["unmanaged"] == ["r1", "r2"], diagnosis
        region.weft("vcp", "leave", "evpns", "r2-lan", code=None)
        until(lambda: f"[{R2}]" not in vtysh("show bgp l2vpn evpn"), lambda: vtysh("show bgp l2vpn evpn"))


@contextmanager
def bird(text: str, folder: Path) -> Iterator[Callable[[str], str]]:
    """Run BIRD with that configuration; yield birdc."""
    (folder / "bird.conf").write_text(text)
    control = folder / "bird.ctl"
    argv = ["bird", "-f", "-c", str(folder / "bird.conf"), "-s", str(control), "-P", str(folder / "bird.pid")]

    def birdc(command: str) -> str:
        return subprocess.run(
            ["birdc", "-s", str(control), *command.split()], capture_output=True, text=True, check=False
        ).stdout

    with daemon(argv, folder / "bird.log"):
        until(control.exists, lambda: (folder / "bird.log").read_text())
        yield birdc


@contextmanager
def exabgp(text: str, name: str, address: str, folder: Path) -> Iterator[None]:
    path = folder / f"{name}.conf"
    path.write_text(text)
    environment = {"exabgp.daemon.user": "root", "exabgp.api.cli": "false", "exabgp.tcp.bind": address}
    with daemon(["exabgp", str(path)], folder / f"{name}.log", **environment):
        yield


def test_an_ip_vpn_of_gobgpd_bird_and_exabgp(region: World, tmp_path: Path) -> None:
    region.weft("vcp", "add", "vpnv4s", "--flavour", "vpnv4")
    for name, address, asn in (("r2", R2, None), ("r3", R3, 64900), ("r4", R4, 64901)):
        add(region, name, "vpnv4", address, asn=asn)
    with (
        gobgpd(config(region, "r2", "gobgp"), tmp_path) as gobgp,
        bird(config(region, "r3", "bird"), tmp_path) as birdc,
        exabgp(config(region, "r4", "exabgp"), "r4", R4, tmp_path),
    ):
        until(lambda: routes(region) == both("r2", "r3", "r4"), lambda: (routes(region), birdc("show protocols")), 60)
        for lan in ("10.4.0.0/24", "10.6.0.0/24"):
            until(lambda: lan in birdc("show route table weft"), lambda: birdc("show route table weft all"))  # noqa: B023
        for lan in ("10.5.0.0/24", "10.6.0.0/24"):
            until(lambda: lan in gobgp("global rib -a vpnv4"), lambda: gobgp("global rib -a vpnv4"))  # noqa: B023
        assert region.json("doctor")["ok"]


def test_exabgp_of_one_as_learns_the_other_ones_labels(region: World, tmp_path: Path) -> None:
    region.weft("vcp", "add", "vplss")
    add(region, "r3", "vpls", R3, asn=64901)
    add(region, "r4", "vpls", R4, asn=64901)
    with (
        exabgp(config(region, "r3", "exabgp"), "r3", R3, tmp_path),
        exabgp(config(region, "r4", "exabgp"), "r4", R4, tmp_path),
    ):
        until(lambda: routes(region) == both("r3", "r4"), lambda: routes(region), 60)
        sent = region.servers[0].get("/v1/routes", table="adj-out")["routes"]
        assert {(route["peer"], route["to"]) for route in sent} == {("r3", "r4"), ("r4", "r3")}
        assert region.json("doctor")["ok"]


def test_a_session_is_signed_with_the_key_that_the_operator_was_shown(signed: World, tmp_path: Path) -> None:
    signed.weft("vcp", "add", "evpns", "--flavour", "evpn")
    add(signed, "r2", "evpn", R2)
    keys = signed.json("cloudlet", "rekey", "r2")["keys"]
    assert keys.keys() == {"rs1", "rs2"}
    until(lambda: "<key of rs2>" in config(signed, "r2", "gobgp"), lambda: config(signed, "r2", "gobgp"))
    text = config(signed, "r2", "gobgp")
    for server, key in keys.items():
        assert key not in text
        text = text.replace(f"<key of {server}>", key)
    with gobgpd(text, tmp_path):
        until(lambda: routes(signed) == both("r2"), lambda: routes(signed), 60)
        assert signed.json("cloudlet", "show", "r2")["sessions"] == dict.fromkeys(keys, "key in force")
        assert signed.json("doctor")["ok"]
        signed.weft("cloudlet", "rekey", "r2")
        until(lambda: routes(signed) == both(), lambda: routes(signed), 60)
        signed.weft("cloudlet", "rekey", "r2", "--off")
        until(lambda: "<key of" not in config(signed, "r2", "gobgp"), "no keys")
