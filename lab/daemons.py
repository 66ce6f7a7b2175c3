"""The daemons of a region: their command lines, their environment and the files that they read. This module starts
nothing."""

import json
import os
import secrets
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

from agents.ipsec.daemon import configuration, kernel_esp
from controller.trust import ceremony
from lab import web_ui
from lab.containers import build as containers
from lab.guests.accelerator import accelerator
from lab.paths import BIN, BUILD, GUESTS, LAB, ROOT, RUN, SOCKET
from lab.plan import Plan
from lab.secret import secret
from lab.state import Record
from lab.topology import Cloudlet, Topology

FRR = Path("/usr/lib/frr")
CHARON = Path("/usr/lib/ipsec/charon")
BGP_PORT, CONTROL_PORT, REST_PORT, AGENT_PORT, REGISTRY_PORT = 179, 9179, 8080, 8443, 5000


def relay(arguments: list[str]) -> dict[str, Record]:
    return {"wan": _record("wan", "wan", [str(BIN / "wanrelay"), *arguments])}


def route_servers(topology: Topology, plan: Plan) -> dict[str, Record]:
    """Return both route servers. Make the token that they share with the controller."""
    secret(_control_token())
    return {
        name: _record(
            name,
            "routeserver",
            [
                str(BIN / "weft-routeserver"),
                *("--name", name, "--asn", str(topology.asn), "--router-id", plan.loopbacks[name]),
                *("--listen", f"{plan.loopbacks[name]}:{BGP_PORT}"),
                *("--control", f"{plan.loopbacks[name]}:{CONTROL_PORT}"),
                *(("--identity", str(_directory(name) / "state/identity")) if topology.ipsec else ()),
                *("--cluster-id", plan.loopbacks[name]),
                *("--token-file", str(_control_token()), "--state", str(_directory(name) / "rules")),
                *(("--twin", _control(topology, plan, twin)) if twin else ()),
            ],
        )
        for name in topology.route_servers
        for twin in [next((other for other in topology.route_servers if other != name), None)]
    }


def controller(topology: Topology, plan: Plan) -> dict[str, Record]:
    """Return the controller on its node, with SQLite and its authority below build/, and its socket in
    /run/weft-lab."""
    directory = _directory("controller")
    servers = [
        {
            "name": name,
            "address": plan.loopbacks[name],
            "control": _control(topology, plan, name),
        }
        for name in topology.route_servers
    ]
    environment = {
        "WEFT_DATABASE_URL": f"sqlite+aiosqlite:///{directory / 'weft.db'}",
        "WEFT_LISTEN": f"{plan.loopbacks[topology.controller]}:{REST_PORT}",
        "WEFT_SOCKET": str(SOCKET),
        "WEFT_ROUTE_SERVERS": json.dumps(servers),
        "WEFT_ROUTE_SERVER_TOKEN_FILE": str(_control_token()),
        "WEFT_ASN": str(topology.asn),
        "WEFT_AUTHORITY": str(directory / "authority"),
        "WEFT_AGENT_LISTEN": f"{plan.loopbacks[topology.controller]}:{AGENT_PORT}",
        "WEFT_AGENT_TLS_ONLY": "true",
        "WEFT_ENROLLED_ONLY": "true",
        **web_ui.settings(directory, plan.loopbacks[topology.controller]),
    }
    if not (directory / "authority").exists():
        ceremony.init(directory / "authority", "lab", datetime.now(UTC))
    argv = [sys.executable, "-m", "controller.main"]
    return {"controller": _record(topology.controller, "controller", argv, environment)}


def window(topology: Topology, plan: Plan) -> dict[str, Record]:
    """Return the way of this machine's browsers to the controller's web UI."""
    return {"window": _record(topology.controller, "window", web_ui.program(plan.loopbacks[topology.controller]))}


def speakers(cloudlet: Cloudlet) -> dict[str, Record]:
    """Return the PE's daemons: gobgpd, or FRR's zebra and bgpd. They start without configuration; the agent configures
    them."""
    if cloudlet.pe == "vpls":
        socket = gobgp_socket(cloudlet)
        # A socket that a killed gobgpd has left would keep the next one from starting.
        argv = ["sh", "-c", 'umask 077 && rm -f "$0" && exec "$@"', str(socket), str(BIN / "gobgpd")]
        argv += ["--api-hosts", f"unix://{socket}", "--log-level", "warn", "--pprof-disable", "--metrics-path="]
        return {f"{cloudlet.name}-gobgpd": _record(cloudlet.name, "gobgpd", argv)}
    run = frr_directory(cloudlet.name)
    # FRR keeps crash logs in /var/tmp/frr and leaves that directory behind: it gets a /var/tmp of its own, in the mount
    # namespace that `ip netns exec` makes. Port 0: no telnet; vtysh comes over the sockets.
    private = ["sh", "-c", 'mount --bind "$0" /var/tmp && exec "$@"', str(run)]
    shared = ["-z", str(run / "zserv.api"), "--vty_socket", str(run), "-u", "frr", "-g", "frr", "--log", "stdout"]
    shared += ["-P", "0"]
    return {
        f"{cloudlet.name}-{daemon}": _record(
            cloudlet.name,
            daemon,
            [*private, str(FRR / daemon), *shared, "-i", str(run / f"{daemon}.pid"), "-f", str(run / f"{daemon}.conf")],
        )
        for daemon in ("zebra", "bgpd")
    }


def charon(cloudlet: Cloudlet) -> dict[str, Record]:
    """Return the cloudlet's charon, which gets its own /run because the path of its pid file is fixed at build time."""
    directory = _directory(cloudlet.name)
    run, conf = directory / "run", directory / "strongswan.conf"
    run.mkdir(exist_ok=True)
    conf.write_text(configuration(vici(cloudlet), kernel_esp(), directory / "charon.log"))
    # Files that a killed charon has left would keep the next one from starting.
    private = 'mount --bind "$0" /run && rm -f /run/charon.pid "$1" && exec chrt --rr 1 "$2"'
    argv = ["sh", "-c", private, str(run), str(vici(cloudlet)), str(CHARON)]
    environment = {"STRONGSWAN_CONF": str(conf)}
    return {f"{cloudlet.name}-charon": _record(cloudlet.name, "charon.out", argv, environment)}


def store(cloudlet: Cloudlet) -> Path:
    """Return the directory of images that the cloudlet's agent fills."""
    return LAB / cloudlet.name / "images"


def registry(node: str, address: str) -> dict[str, Record]:
    """Return a registry of images at an address of a node, without TLS."""
    directory = _directory(node)
    config = {
        "version": "0.1",
        "log": {"level": "warn"},
        "storage": {"filesystem": {"rootdirectory": str(directory / "registry")}},
        "http": {"addr": f"{address}:{REGISTRY_PORT}", "secret": secrets.token_hex(16)},
    }
    path = directory / "registry.json"  # JSON is YAML
    path.write_text(json.dumps(config))
    return {"registry": _record(node, "registry", ["docker-registry", "serve", str(path)])}


def gobgp_socket(cloudlet: Cloudlet) -> Path:
    """Return the socket on which the cloudlet's gobgpd listens for its agent."""
    return _directory(cloudlet.name) / "gobgpd.sock"


def vici(cloudlet: Cloudlet) -> Path:
    """Return the socket on which the cloudlet's charon listens for its agent."""
    return LAB / cloudlet.name / "charon.vici"


def agent(cloudlet: Cloudlet, topology: Topology, plan: Plan) -> dict[str, Record]:
    """Return the cloudlet's agent. Write the configuration file that it reads."""
    directory = _directory(cloudlet.name)
    run = frr_directory(cloudlet.name)
    text = [
        f'cloudlet = "{cloudlet.name}"',
        f'controller = "https://{plan.loopbacks[topology.controller]}:{AGENT_PORT}"',
        f'token_file = "{token_file(cloudlet)}"',
        f'state_dir = "{directory / "state"}"',
    ]
    if cloudlet.pe == "vpls":
        text += ["[gobgp]", f'api = "unix://{gobgp_socket(cloudlet)}"']
    else:
        text += ["[frr]", f'vty_dir = "{run}"', f'conf = "{run / "frr.conf"}"']
    if topology.ipsec:
        text += ["[ipsec]", f'vici = "{vici(cloudlet)}"']
    if topology.stores:
        images = store(cloudlet)
        images.mkdir(exist_ok=True)
        text += ["[images]", f'directory = "{images}"', "[hypervisors.container]", f'images = "{images}"']
    drivers = {machine.driver for _, machine in topology.machines}
    if "container" in drivers:
        images = GUESTS / containers.FOLDER
        text += ["[hypervisors.container]", f'images = "{images}"', f"paths = {json.dumps(plan.paths(cloudlet.name))}"]
    if "qemu" in drivers:
        text += ["[hypervisors.qemu]", f'images = "{GUESTS}"', f"paths = {json.dumps(plan.paths(cloudlet.name))}"]
        text += ["[hypervisors.qemu.options]", f'accelerator = "{accelerator(GUESTS)}"']
        text += ['compression = "thin"'] if topology.thin else []
    config = directory / "agent.toml"
    config.write_text("\n".join(text) + "\n")
    argv = [sys.executable, "-m", "agents.main", "run", "--config", str(config)]
    return {f"{cloudlet.name}-agent": _record(cloudlet.name, "agent", argv)}


def dhcp_client(node: str, client_id: str | None) -> Record:
    """Return the DHCP client of a device or VM on its eth0, which goes on renewing."""
    lease_file(node).parent.mkdir(parents=True, exist_ok=True)
    lease_file(node).unlink(missing_ok=True)
    argv = ["udhcpc", "-f", "-i", "eth0", "-s", str(ROOT / "lab" / "udhcpc.script"), "-t", "20", "-T", "1", "-A", "1"]
    identity = ["-C", "-x", f"0x3d:{client_id}"] if client_id else []
    return _record(node, "udhcpc", [*argv, *identity], {"WEFT_LEASE_FILE": str(lease_file(node))})


def dhcp6_client(node: str) -> Record:
    """Return the DHCPv6 client of a device or VM on its eth0, which goes on renewing. Its identity is its MAC."""
    file = lease_file(node, 6)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    kept = file.with_name("dhclient6")
    argv = ["dhclient", "-6", "-d", "-sf", str(ROOT / "lab" / "dhclient6.script"), "-e", f"WEFT_LEASE_FILE={file}"]
    argv += ["-lf", f"{kept}.leases", "-pf", f"{kept}.pid", "-cf", "/dev/null", "eth0"]
    return _record(node, "dhclient6", argv)


def frr_directory(node: str) -> Path:
    return RUN / node / "frr"


def make_frr_directory(cloudlet: Cloudlet) -> None:
    """Make FRR's directory. It belongs to FRR's user, because FRR gives up root before it opens its sockets."""
    run = frr_directory(cloudlet.name)
    run.mkdir(parents=True, exist_ok=True)
    for daemon in ("zebra", "bgpd"):
        (run / f"{daemon}.conf").touch()
    for path in (run, *run.iterdir()):
        shutil.chown(path, "frr", "frr")


def token_file(cloudlet: Cloudlet) -> Path:
    return LAB / cloudlet.name / "token"


def lease_file(node: str, family: int = 4) -> Path:
    return LAB / node / ("lease" if family == 4 else "lease6")


def missing() -> list[str]:
    """Return the files that have to be built or installed before a region can run."""
    wanted = [BIN / "weft-routeserver", BIN / "gobgpd", BIN / "wanrelay", FRR / "zebra", FRR / "bgpd"]
    return [str(path) for path in wanted if not path.is_file()]


def _control(topology: Topology, plan: Plan, name: str) -> str:
    """Return the URL of a route server's control API: over TLS if its host enrols."""
    return f"{'https' if topology.ipsec else 'http'}://{plan.loopbacks[name]}:{CONTROL_PORT}"


def _control_token() -> Path:
    return LAB / "control.token"


def _directory(node: str) -> Path:
    directory = LAB / node
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _record(node: str, log: str, argv: list[str], environment: dict[str, str] | None = None) -> Record:
    python_path = os.pathsep.join((str(ROOT), str(BUILD / "gobgpapi")))
    environment = {"PYTHONPATH": python_path, "PYTHONUNBUFFERED": "1", **(environment or {})}
    return Record(node=node, argv=argv, env=environment, log=str(LAB / node / f"{log}.log"))
