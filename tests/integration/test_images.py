"""The images that operators run: built by buildah from this tree's packages on a bare Debian, and run by podman with
the limits of docker-compose.yml."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.packages import version
from lab.paths import ROOT
from lab.patience import until
from tests.integration.towns import architecture, build, release, signing_key

pytestmark = pytest.mark.lab

BASE = "localhost/weft-bare-debian"
HARDENED = ("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--tmpfs", "/tmp")
_STORAGE = '[storage]\ndriver = "overlay"\ngraphroot = "{folder}/images"\nrunroot = "{folder}/run"\n'
_ENGINE = """[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
runtime = "runc"
events_logger = "file"
"""


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Images of this tree in a store of their own, and the command that runs them."""
    if release() != "bookworm":
        pytest.skip("the images stand on Debian 12, whose packages this machine does not build by itself")
    folder = tmp_path_factory.mktemp("images")
    (folder / "storage.conf").write_text(_STORAGE.format(folder=folder))
    (folder / "containers.conf").write_text(_ENGINE)
    environment = {
        "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"), "CONTAINERS_CONF": str(folder / "containers.conf"),
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as patch, signing_key(folder):
        for name, value in environment.items():
            patch.setenv(name, value)
        repository = build(folder)
        subprocess.run([ROOT / "lab/bare-root", release(), folder / "root"], check=True)
        importing = f"tar -C {folder}/root -c . | podman import --quiet - {BASE}"
        subprocess.run(["bash", "-o", "pipefail", "-c", importing], check=True)
        options = ["--isolation", "chroot", "--network", "host", "--build-arg", f"BASE={BASE}"]
        command = [str(ROOT / "deploy/build-images"), *options]
        made = subprocess.run(
            command, env=os.environ | {"REPOSITORY": str(repository)}, capture_output=True, text=True, check=False
        )
        assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:]
        try:
            yield ["podman"]
        finally:
            subprocess.run(["podman", "rm", "--all", "--force", "--time", "0"], check=False, capture_output=True)
            subprocess.run(["podman", "unmount", "--all"], check=False, capture_output=True)


def said(podman: list[str], *words: str) -> str:
    done = subprocess.run([*podman, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", ["controller", "routeserver", "agent"])
def test_an_image_runs_its_program(podman: list[str], name: str) -> None:
    answer = said(podman, "run", "--rm", "--network", "none", *HARDENED, f"localhost/weft-{name}", "--version")
    assert answer.split() == [f"weft-{name}", version.of_tree(ROOT).python]
    assert said(podman, "image", "inspect", "--format", "{{.Architecture}}", f"localhost/weft-{name}") == architecture()


def test_a_controller_serves_as_compose_runs_it(podman: list[str], tmp_path: Path) -> None:
    """No root, nothing that can be written but its volumes, and no capability."""
    run = ("run", "--detach", "--network", "none", *HARDENED, "--volume", "/var/lib/weft")
    place = ("--volume", "/run/weft", "--env", "WEFT_SOCKET=/run/weft/controller.sock")
    made = said(podman, *run, *place, "localhost/weft-controller")
    weft = ("exec", made, "weft")
    until(lambda: subprocess.run([*podman, *weft, "vcp", "list"], capture_output=True, check=False).returncode == 0)
    said(podman, *weft, "vcp", "add", "blue")
    assert "blue" in said(podman, *weft, "vcp", "list")
    assert said(podman, "exec", made, "id", "-u") == "10001"
