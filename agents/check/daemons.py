"""Daemons beside the agent, and hypervisors."""

import socket
import tempfile
from contextlib import closing
from pathlib import Path

from agents.hypervisors.found import Drivers
from agents.hypervisors.hypervisor import Refused
from agents.settings import Settings
from controller.wire.checks import Result, failed, ok, warning

_UNIX = "unix://"
_SECONDS = 2.0


async def results(settings: Settings) -> list[Result]:
    """Return results for the BGP speaker, charon and each hypervisor driver of the settings."""
    found = [speaker(settings)]
    if settings.ipsec is not None:
        found.append(_charon(settings.ipsec.vici))
    with tempfile.TemporaryDirectory(prefix="weft-check-") as folder:
        drivers = Drivers(settings.cloudlet, Path(folder), settings.hypervisors)
        for name in settings.hypervisors:
            found.append(await _hypervisor(drivers, name))
    return found


def speaker(settings: Settings) -> Result:
    """Return the result for the PE's BGP speaker: gobgpd for VPLS, or FRR's bgpd and zebra for EVPN."""
    there = []
    if _answers(settings.gobgp.api):
        there.append("gobgpd (VPLS)")
    if all(_answers(f"{_UNIX}{settings.frr.vty_dir}/{name}.vty") for name in ("bgpd", "zebra")):
        there.append("FRR (EVPN)")
    if there:
        return ok("BGP speaker", f"{' and '.join(there)} runs")
    remedy = (
        "systemctl enable --now weft-gobgpd (VPLS), or bgpd=yes in /etc/frr/daemons and systemctl restart frr (EVPN)"
    )
    return failed("BGP speaker", "neither gobgpd nor FRR's bgpd answers", remedy)


def _charon(vici: Path) -> Result:
    if _answers(f"{_UNIX}{vici}"):
        return ok("charon", f"answers at {vici}")
    return failed("charon", f"does not answer at {vici}", "systemctl enable --now weft-charon")


async def _hypervisor(drivers: Drivers, name: str) -> Result:
    subject = f"hypervisor {name}"
    try:
        driver = await drivers.driver(name, "127.0.0.1")
    except Refused as refused:
        return failed(subject, str(refused), f"docs/operate/{name}.md says what the driver needs")
    able = driver.capabilities
    without = [what for what, there in (("disks", able.disk), ("live moves", able.live)) if not there]
    if without:
        return warning(subject, f"{able.version}, without {' and '.join(without)}")
    return ok(subject, able.version)


def _answers(api: str) -> bool:
    """Return whether a program accepts connections at `unix:///path` or `host:port`."""
    host, _, port = api.rpartition(":")
    try:
        if not api.startswith(_UNIX):
            socket.create_connection((host, int(port)), _SECONDS).close()
            return True
        with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as connection:
            connection.settimeout(_SECONDS)
            connection.connect(api.removeprefix(_UNIX))
            return True
    except (OSError, ValueError):
        return False
