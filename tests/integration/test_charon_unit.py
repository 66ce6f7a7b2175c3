"""charon with the limits of its systemd unit (tests/sandbox.py): it makes tunnels, also after it was killed."""

import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.ipsec.daemon import configuration
from tests import sandbox
from tests.integration import ipsec_site
from tests.integration.ipsec_site import eventually, sites

reason = ipsec_site.usable()
pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(reason is not None, reason=reason or ""),
    pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze, for groups of calls"),
]
NET_ADMIN = 1 << 12


def confined(directory: Path) -> list[str]:
    """Return the command line of `ipsec_site.charon` as NOBODY in the sandbox. Every user may open /dev/net/tun, as
    udev sets it up."""
    run, vici, conf = directory / "run", directory / "charon.vici", directory / "strongswan.conf"
    run.mkdir(exist_ok=True)
    for each in (directory, run):
        os.chown(each, sandbox.NOBODY, sandbox.NOBODY)
    conf.write_text(configuration(vici, kernel=False, log=directory / "charon.log"))
    (run / "charon.pid").unlink(missing_ok=True)
    tun = f"cp -a /dev/net/tun {run} && chmod 666 {run}/tun && mount --bind {run}/tun /dev/net/tun"
    program = shlex.join(sandbox.command("weft-charon", str(ipsec_site.CHARON)))
    script = f"mount --make-rprivate / && {tun} && mount --bind {run} /run && exec {program}"
    return ["env", f"STRONGSWAN_CONF={conf}", "unshare", "-m", "sh", "-c", script]


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory that NOBODY can reach."""
    with tempfile.TemporaryDirectory(prefix="weft-charon-") as name:
        made = Path(name)
        made.chmod(0o755)
        yield made


async def test_it_needs_net_admin_and_its_ports_and_nothing_else(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ipsec_site, "charon", confined)
    async with sites(directory) as both:
        both.one.want("c2")
        both.two.want("c1")
        await both.both_up()
        assert both.one.reaches() == 3
        lines = Path(f"/proc/{both.one.pid}/status").read_text().splitlines()
        found = {key: value.split() for key, _, value in (line.partition(":") for line in lines)}
        assert found["Name"] == ["charon"] and set(found["Uid"]) == {str(sandbox.NOBODY)}
        assert int(found["CapEff"][0], 16) == int(found["CapPrm"][0], 16) == NET_ADMIN, "ports are bound by now"
        assert found["NoNewPrivs"] == ["1"] and found["Seccomp"] == ["2"]
        both.one.kill()
        await eventually("gone", both.one.down)
        both.one.start()
        await eventually("up again", lambda: both.one.up and both.one.answered(), 30)
