"""gobgpd with the limits of its unit: the agent, which is root, reaches its API, and no other user does."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import grpc.aio
import pytest
from api import gobgp_pb2 as gobgp
from api.gobgp_pb2_grpc import GoBgpServiceStub

from agents.settings import GobgpSettings
from lab.paths import BIN
from tests import sandbox
from tests.integration.agent_namespaces import namespaces, wait_for

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give it away"),
    pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze, for groups of calls"),
]
UNIT = sandbox.unit(sandbox.UNITS / "weft-gobgpd.service")
AGENT = sandbox.command("weft-agent")
OTHER = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups"]
CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory as RuntimeDirectory= makes it, in a place that all users can reach."""
    with tempfile.TemporaryDirectory(prefix="weft-gobgpd-") as name:
        made = Path(name) / UNIT["RuntimeDirectory"][0]
        Path(name).chmod(0o755)
        made.mkdir()
        made.chmod(int(UNIT["RuntimeDirectoryMode"][0], 8))
        os.chown(made, sandbox.NOBODY, sandbox.NOBODY)
        yield made


def connects(socket: Path, *became: str) -> bool:
    done = subprocess.run(
        [*became, sandbox.PYTHON, "-c", CONNECT, str(socket)], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0 or "PermissionError" in done.stderr, done.stderr
    return done.returncode == 0


async def started(target: str) -> int:
    """Set the speaker's AS over its API; return the AS that the speaker then has."""
    async with grpc.aio.insecure_channel(target) as channel:
        stub = GoBgpServiceStub(channel)
        settings = gobgp.Global(asn=65000, router_id="192.0.2.1", listen_port=-1)
        await stub.StartBgp(gobgp.StartBgpRequest(**{"global": settings}))
        return int(getattr(await stub.GetBgp(gobgp.GetBgpRequest()), "global").asn)


def test_root_alone_may_use_it(directory: Path, tmp_path: Path) -> None:
    program, *options = UNIT["ExecStart"][0].split()
    api = GobgpSettings().api.replace(f"/run/{directory.name}", str(directory))
    options = [each.replace(f"/run/{directory.name}", str(directory)) for each in options]
    assert Path(program).name == "gobgpd" and api in options
    socket, log = Path(api.removeprefix("unix://")), tmp_path / "log"
    with namespaces("gobgpd") as [pe]:
        command = ["ip", "netns", "exec", pe.name, *sandbox.command("weft-gobgpd", str(BIN / "gobgpd"), *options)]
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, umask=int(UNIT["UMask"][0], 8))
        try:
            wait_for("the API", lambda: socket.exists() or process.poll() is not None, 20)
            assert process.poll() is None, log.read_text()
            assert asyncio.run(started(api)) == 65000
            assert connects(socket, *AGENT) and not connects(socket, *OTHER)
            listening = subprocess.run(
                ["ip", "netns", "exec", pe.name, "ss", "-tulnH"], capture_output=True, check=True
            )
            assert listening.stdout == b"", "nor is there a port"
            # Either protection alone is sufficient.
            directory.chmod(0o755)
            assert not connects(socket, *OTHER)
            socket.chmod(0o777)
            assert connects(socket, *OTHER)
        finally:
            process.kill()
            process.wait()
