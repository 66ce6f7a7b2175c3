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


async def results(settings: Settings) -> list[Result]:
    """Return a result for each feature that these settings need."""
    found = [await _tried(feature) for feature in _FEATURES]
    if settings.ipsec is not None:
        found.append(_esp())
    if settings.hypervisors:
        found.append(_mptcp())
    return found


async def _tried(feature: _Feature) -> Result:
    try:
        ended = await command.run("unshare", "--net", *feature.trial.split(), seconds=_SECONDS)
    except (OSError, TimeoutError) as error:
        return failed(feature.subject, f"cannot be tried: {error or 'no answer'}", "run weft-agent check as root")
    if ended.code == 0:
        return ok(feature.subject, "there")
    said = (ended.complaint.strip().splitlines() or ["refused"])[0]
    return failed(feature.subject, f"refused: {said}", f"{feature.why}: use Debian's kernel, or one with this feature")


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
