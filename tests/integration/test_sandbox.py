"""The programs with the limits of their systemd units (tests/sandbox.py). All tests with agent_region.py start the
agent in this way; the tests here check that this is true, and that the sandbox holds."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sysconfig
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.wire.rulesets import RuleSet
from tests import sandbox
from tests.integration.agent_namespaces import namespaces, wait_for

ROOT = Path(__file__).parents[2]
ROUTE_SERVER = ROOT / "build/bin/weft-routeserver"
pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give it away"),
    pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze, for groups of calls"),
]
PORT, CONTROL = 18571, 18572


@pytest.fixture
def state() -> Iterator[Path]:
    """A directory that NOBODY owns and can reach."""
    with tempfile.TemporaryDirectory(prefix="weft-sandbox-") as name:
        os.chown(name, sandbox.NOBODY, sandbox.NOBODY)
        yield Path(name)


@contextlib.contextmanager
def started(name: str, log: Path, *program: str, **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            sandbox.command(name, *program), env=os.environ | environment, stdout=output, stderr=output, cwd=log.parent
        )
    try:
        yield process
        assert process.poll() is None, log.read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in (0, -signal.SIGTERM), log.read_text()
    finally:
        process.kill()
        process.wait()


def answer(url: str, log: Path) -> bytes | None:
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5) as said:
        return bytes(said.read())
    return None


def status(process: "subprocess.Popen[bytes]") -> dict[str, str]:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


@pytest.mark.smoke
def test_the_controller_needs_no_capability(state: Path) -> None:
    log = state / "log"
    environment = {
        "WEFT_DATABASE_URL": f"sqlite+aiosqlite:///{state}/weft.db",
        "WEFT_LISTEN": f"127.0.0.1:{PORT}",
        "WEFT_SOCKET": str(state / "socket"),
        "PYTHONPATH": f"{ROOT}:{sysconfig.get_path('purelib')}",
    }
    with started("weft-controller", log, sandbox.PYTHON, "-m", "controller.main", **environment) as process:
        ready = wait_for("ready", lambda: answer(f"http://127.0.0.1:{PORT}/readyz", log), 60)
        assert ready and json.loads(ready)["ready"] is True
        found = status(process)
        assert {int(found[key], 16) for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
        assert found["NoNewPrivs"] == "1" and found["Seccomp"] == "2"


@pytest.mark.smoke
def test_the_route_server_needs_port_179_and_nothing_else(state: Path) -> None:
    log, token = state / "log", state / "token"
    token.write_text("a-token")
    with namespaces("rs") as [core]:
        words = [
            "--name=rs1", "--listen=127.0.0.1:179", f"--control=127.0.0.1:{CONTROL}", "--asn=65000",
            "--router-id=192.0.2.1", f"--token-file={token}", f"--state={state / 'state'}",
        ]  # fmt: skip
        program = sandbox.command("weft-routeserver", str(ROUTE_SERVER), *words)
        process = core.spawn(*program, log=log)

        def listens() -> bool:
            with core.entered(), contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", 179), 1):
                return True
            assert process.poll() is None, log.read_text()
            return False

        def told() -> bool:
            """Send a rule set; return whether it was accepted. The route server speaks BGP from the first rule set
            on."""
            rules = RuleSet(generation=1, peers=[], endpoints=[], vcps=[]).model_dump_json()
            with core.entered(), contextlib.suppress(OSError):
                connection = http.client.HTTPConnection("127.0.0.1", CONTROL, timeout=5)
                with contextlib.closing(connection):
                    connection.request("PUT", "/v1/ruleset", rules, {"Authorization": "Bearer a-token"})
                    with connection.getresponse() as said:
                        return said.status == 200
            return False

        wait_for("the control API", told, 20)
        wait_for("BGP", listens, 20)
        found = status(process)
        assert {int(found[key], 16) for key in ("CapPrm", "CapEff", "CapBnd", "CapAmb")} == {1 << 10}
        assert found["NoNewPrivs"] == "1" and found["Seccomp"] == "2"


TRICKS = {
    "raw socket": "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "another user": "import os; os.setuid(1)",
    "a namespace": "import ctypes; assert ctypes.CDLL(None).unshare(0x10000000) == 0",
    "a trace of itself": "import ctypes; assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0",
    "code that is data": "import mmap; mmap.mmap(-1, 4096, prot=mmap.PROT_WRITE | mmap.PROT_EXEC)",
}


@pytest.mark.parametrize("trick", TRICKS)
def test_the_sandbox_holds(trick: str) -> None:
    command = [sandbox.PYTHON, "-c", TRICKS[trick]]
    if trick == "a namespace" and subprocess.run(command, capture_output=True, timeout=30, check=False).returncode:
        pytest.skip("the kernel makes no user namespaces here, as in a chroot (user_namespaces(7))")
    done = subprocess.run(sandbox.command("weft-controller", *command), capture_output=True, timeout=30, check=False)
    assert done.returncode != 0
    subprocess.run(command, check=True, timeout=30)  # it works without the sandbox


def test_the_agent_has_what_its_unit_says(tmp_path: Path) -> None:
    """The agent's bounding set limits its capabilities; without NET_ADMIN it could not create an interface."""
    link = ["ip", "link", "add", "br0", "type", "bridge"]
    with namespaces("agent") as [site]:
        enter = ["ip", "netns", "exec", site.name]
        done = subprocess.run([*enter, *sandbox.command("weft-controller", *link)], capture_output=True, check=False)
        assert done.returncode != 0
        subprocess.run([*enter, *sandbox.command("weft-agent", *link)], check=True, timeout=30)
        for denied in (["setpriv", "--reuid=1", "true"], ["mknod", str(tmp_path / "disk"), "b", "8", "0"]):
            command = sandbox.command("weft-agent", *denied)
            assert subprocess.run(command, capture_output=True, timeout=30, check=False).returncode != 0, denied
