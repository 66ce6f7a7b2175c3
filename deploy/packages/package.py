"""The packages: what each of them is made of. deploy/README.md says what each is for."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from deploy.packages.target import Target

PREFIX = "/usr/lib/weft"
"""Where the packages keep what only Weft's own programs use."""

_UNITS = "usr/lib/systemd/system"
_USERS = "usr/lib/sysusers.d"


@dataclass(frozen=True)
class Environment:
    """A private Python environment in PREFIX/`folder`, with the folders `sources` of this repository (git's pathspecs),
    and what their `extras` need. `scripts` are its programs, each with its `module:function`; they are in /usr/bin as
    well. With `debian` it also sees Debian's own Python packages, where it has none itself. `stubs`: with gobgpd's API;
    `ui`: with the web UI."""

    folder: str
    sources: tuple[str, ...]
    extras: tuple[str, ...]
    scripts: Mapping[str, str]
    debian: bool = False
    stubs: bool = False
    ui: bool = False


@dataclass(frozen=True)
class Package:
    """A package. `programs` are Go programs: those in `own` stand in PREFIX/bin, out of the way of other packages of
    the same name. `files` of this repository are installed at other paths, executable as they are here. `units` are
    systemd's and among them. `restarted` units restart in an upgrade, and those in `kept` only if they or their program
    have changed. `settings` is a file that a first installation puts into /etc/weft, for the operator to write.
    `user`: it needs the user weft. `commands` have manual pages. `site` is the folder with the manual as a site."""

    name: str
    summary: str
    description: str
    environment: Environment | None = None
    programs: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    units: tuple[str, ...] = ()
    restarted: tuple[str, ...] = ()
    kept: Mapping[str, str] = field(default_factory=dict)
    settings: str | None = None
    user: bool = False
    commands: tuple[str, ...] = ()
    site: str | None = None
    depends: tuple[str, ...] = ()
    recommends: tuple[str, ...] = ()
    suggests: tuple[str, ...] = ()
    section: str = "net"

    @property
    def anywhere(self) -> bool:
        """Whether one file serves all releases and architectures."""
        return self.environment is None and not self.programs and not self.own

    def needs(self, target: Target) -> list[str]:
        """Return the packages of Debian that this one depends on."""
        found = list(self.depends)
        if self.environment is not None:
            found += [f"python3 (>= {target.release.python})", f"python3 (<< {target.next_python})", "libc6"]
        if self.user:
            found.append("systemd | systemd-standalone-sysusers")
        return found


CONTROLLER = Package(
    name="weft-controller",
    summary="network control plane for cloudlets: the controller",
    description="Joins cloudlets into Virtual Cloud Pools by rewriting BGP route targets, hands out addresses for "
    "devices and their VMs, and decides on moves. Serves a REST API and a web UI. Its database is SQLite or "
    "PostgreSQL.",
    environment=Environment(
        "controller",
        ("controller", ":!controller/cli", ":!controller/ui", "migrations", "policies"),
        ("controller", "postgres", "traces"),
        {"weft-controller": "controller.main:main"},
        ui=True,
    ),
    files={
        "usr/share/weft-controller/controller.env": "deploy/packages/files/controller.env",
        f"{_UNITS}/weft-controller.service": "deploy/systemd/weft-controller.service",
        f"{_UNITS}/weft-backup.service": "deploy/systemd/weft-backup.service",
        f"{_UNITS}/weft-backup.timer": "deploy/systemd/weft-backup.timer",
        f"{_USERS}/weft-controller.conf": "deploy/packages/files/sysusers.conf",
    },
    units=("weft-controller.service", "weft-backup.service", "weft-backup.timer"),
    restarted=("weft-controller.service",),
    settings="controller.env",
    user=True,
    commands=("weft-controller",),
    site="usr/share/weft-controller/manual",
    recommends=("weft-cli",),
    suggests=("weft-routeserver", "postgresql"),
)
ROUTESERVER = Package(
    name="weft-routeserver",
    summary="network control plane for cloudlets: the BGP route server",
    description="Reflects VPLS, EVPN and IP VPN routes between PEs and rewrites their route targets, as the "
    "controller's rule set says. Two of them serve a region.",
    programs=("weft-routeserver",),
    files={
        "usr/share/weft-routeserver/routeserver.env": "deploy/packages/files/routeserver.env",
        f"{_UNITS}/weft-routeserver.service": "deploy/systemd/weft-routeserver.service",
        f"{_USERS}/weft-routeserver.conf": "deploy/packages/files/sysusers.conf",
    },
    units=("weft-routeserver.service",),
    restarted=("weft-routeserver.service",),
    settings="routeserver.env",
    user=True,
    commands=("weft-routeserver",),
)
AGENT = Package(
    name="weft-agent",
    summary="network control plane for cloudlets: the agent of a cloudlet",
    description="Keeps a cloudlet's tunnels, LAN, addresses and fences as the controller wants them, measures round "
    "trips to other cloudlets, and moves VMs and containers. Contains gobgpd, the BGP speaker for VPLS.",
    environment=Environment(
        "agent",
        ("agents", "controller/__init__.py", "controller/py.typed", "controller/wire"),
        ("agent", "traces"),
        {"weft-agent": "agents.main:main"},
        debian=True,
        stubs=True,
    ),
    own=("gobgpd", "gobgp", "weft-transfer", "weft-images"),
    files={
        "usr/share/weft-agent/agent.toml": "deploy/packages/files/agent.toml",
        f"{_UNITS}/weft-agent.service": "deploy/systemd/weft-agent.service",
        f"{_UNITS}/weft-gobgpd.service": "deploy/systemd/weft-gobgpd.service",
        f"{_UNITS}/weft-charon.service": "deploy/systemd/weft-charon.service",
        f"{PREFIX[1:]}/bin/weft-guest": "lab/guests/package/weft-guest",
        f"{PREFIX[1:]}/bin/weft-qemu": "lab/qemu",
        "usr/share/doc/weft-agent/examples/containers.conf": "deploy/systemd/weft-agent-containers.conf",
    },
    units=("weft-agent.service", "weft-gobgpd.service", "weft-charon.service"),
    restarted=("weft-agent.service",),
    kept={"weft-gobgpd.service": f"{PREFIX}/bin/gobgpd"},
    settings="agent.toml",
    commands=("weft-agent",),
    depends=("iproute2 (>= 6.0)", "nftables", "procps"),
    recommends=(
        "strongswan-charon", "strongswan-swanctl", "libcharon-extra-plugins", "libstrongswan-standard-plugins",
    ),
    suggests=(
        "frr (>= 8.4)", "frr-pythontools", "qemu-system-x86 (>= 1:10)", "qemu-utils", "python3-libvirt", "runc",
        "umoci", "skopeo",
    ),
)  # fmt: skip
CLI = Package(
    name="weft-cli",
    summary="network control plane for cloudlets: the weft command",
    description="Enrols cloudlets, plans and applies policies, joins pools, explains routes and moves VMs, by a "
    "controller's REST API.",
    environment=Environment(
        "cli",
        (
            "controller/__init__.py", "controller/py.typed", "controller/cli", "controller/core", "controller/wire",
            ":!controller/wire/templates.py", "policies",
        ),
        ("cli", "netbox"),
        {"weft": "controller.cli.start:main"},
    ),
    commands=("weft",),
)  # fmt: skip
GUEST = Package(
    name="weft-guest",
    summary="addresses and MPTCP endpoints of a VM that moves between cloudlets",
    description="Leases an address on a vNIC whose link comes up, announces it to MPTCP peers, and takes it back when "
    "the VM has moved on. Asked by the hypervisor through the guest agent, or by hand.",
    files={
        "usr/sbin/weft-guest": "lab/guests/package/weft-guest",
        f"{_UNITS}/weft-guest.service": "lab/guests/package/weft-guest.service",
    },
    units=("weft-guest.service",),
    restarted=("weft-guest.service",),
    depends=("iproute2 (>= 6.0)", "udhcpc | busybox"),
    recommends=("qemu-guest-agent",),
)

PACKAGES = {one.name: one for one in (CONTROLLER, ROUTESERVER, AGENT, CLI, GUEST)}
