"""The features of the kernel, tried in a network namespace that ends with each trial."""

from dataclasses import dataclass
from pathlib import Path

from agents import command
from agents.ipsec.daemon import kernel_esp
from agents.settings import Settings
from controller.wire.checks import Result, failed, ok, warning

_SECONDS = 10.0
_TUN = Path("/dev/net/tun")
_MPTCP = Path("/proc/sys/net/mptcp/enabled")


@dataclass(frozen=True)
class _Feature:
    subject: str
    trial: str
    why: str


_FEATURES = (
    _Feature("kernel: bridge", "ip link add weft0 type bridge", "LANs are bridges"),
    _Feature(
        "kernel: VXLAN",
        "ip link add weft0 type vxlan id 1 local 127.0.0.1 dstport 4789 nolearning",
        "tunnels between cloudlets are VXLAN",
    ),
    _Feature("kernel: nftables for bridges", "nft add table bridge weft", "fences stand there"),
    _Feature("kernel: nftables for IP", "nft add table inet weft", "access rules stand there"),
)
_VLANS = "ip link add weft0 type veth && ip link add link weft0 name weft0.1 type vlan id 1"


async def results(settings: Settings) -> list[Result]:
    """Return a result for each feature that these settings need."""
    found = [await _tried(feature) for feature in _FEATURES]
    found.append(await _vlans())
    if settings.ipsec is not None:
        found.append(_esp())
    if settings.hypervisors:
        found.append(_mptcp())
    return found


async def _tried(feature: _Feature) -> Result:
    try:
        refusal = await _refusal(feature.trial)
    except (OSError, TimeoutError) as error:
        return failed(feature.subject, f"cannot be tried: {error or 'no answer'}", "run weft-agent check as root")
    if refusal is None:
        return ok(feature.subject, "there")
    remedy = f"{feature.why}: use Debian's kernel, or one with this feature"
    return failed(feature.subject, f"refused: {refusal}", remedy)


async def _refusal(trial: str) -> str | None:
    """Return the complaint about a trial, or None if it succeeds. Raises OSError and TimeoutError."""
    ended = await command.run("unshare", "--net", "sh", "-c", trial, seconds=_SECONDS)
    return None if ended.code == 0 else (ended.complaint.strip().splitlines() or ["no reason given"])[0]


async def _vlans() -> Result:
    subject = "kernel: VLANs"
    try:
        there = await _refusal(_VLANS) is None
    except (OSError, TimeoutError):
        there = False
    return (
        ok(subject, "there")
        if there
        else warning(subject, "not in this kernel: no VLAN of a trunk can be an access port", "modprobe 8021q")
    )


def _esp() -> Result:
    subject = "kernel: ESP"
    if kernel_esp():
        return ok(subject, "the kernel encrypts")
    if _TUN.exists():
        return warning(subject, "not in this kernel: charon encrypts, which costs more processor time")
    return failed(subject, f"neither in this kernel nor, without {_TUN}, in charon", "modprobe tun")


def _mptcp() -> Result:
    subject = "kernel: MPTCP"
    try:
        enabled = _MPTCP.read_text().strip() == "1"
    except OSError:
        return warning(subject, "not in this kernel: moves use one path", "use Debian's kernel")
    return (
        ok(subject, "there") if enabled else warning(subject, "off: moves use one path", "sysctl net.mptcp.enabled=1")
    )
