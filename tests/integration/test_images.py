"""The images that operators run: built by buildah from this tree's packages on a bare Debian, and run by podman with
the limits of docker-compose.yml."""

import os
import subprocess
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.packages import version
from lab.paths import ROOT
from lab.patience import until
from tests.chart.rendering import PLAIN, one, rendered
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


def as_kubelet_mounts(folder: Path, secrets: dict[str, dict[str, str]], group: int) -> dict[str, Path]:
    """Write secrets as a kubelet does: files behind two symbolic links, of root, readable by the pod's group."""
    places = {}
    for name, files in secrets.items():
        (version := folder / name / "..2026_01_01_00_00_00.1").mkdir(parents=True)
        (folder / name / "..data").symlink_to(version.name)
        for file, text in files.items():
            (version / file).write_text(text)
            (version / file).chmod(0o440)
            os.chown(version / file, 0, group)
            (folder / name / file).symlink_to(f"..data/{file}")
        places[name] = folder / name
    return places


def pod_of(controller: dict[str, Any], places: dict[str, Path]) -> dict[str, Any]:
    """Return the pod that Kubernetes would make of a stateful set. Podman knows neither templates of claims nor secrets
    as volumes, nor a pod's user, which is the image's own; it would publish ports at the host, and probe with a program
    that the image lacks."""
    pod = deepcopy(controller["spec"]["template"]["spec"])
    for container in pod["containers"]:
        for unknown in ("ports", "readinessProbe", "livenessProbe", "startupProbe"):
            container.pop(unknown)
    for volume in pod["volumes"]:
        if secret := volume.pop("secret", None):
            volume["hostPath"] = {"path": str(places[secret["secretName"]]), "type": "Directory"}
    for claim in controller["spec"].get("volumeClaimTemplates", []):
        name = claim["metadata"]["name"]
        pod["volumes"].append({"name": name, "persistentVolumeClaim": {"claimName": name}})
    # Podman 4.3 removes an init container of type `once` when it has ended, and now and then finds it running still.
    kept = {"io.podman.annotations.init.container.type": "always"}
    name = f"{controller['metadata']['name']}-0"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": kept}, "spec": pod}


def test_a_controller_serves_as_the_chart_runs_it(podman: list[str], tmp_path: Path) -> None:
    """Its secrets come by the first container, which makes them its own; it answers its probes."""
    plain = PLAIN | {"image": {"registry": "localhost", "tag": "latest", "pullPolicy": "Never"}}
    controller = one(rendered(plain), "StatefulSet", "region-controller")
    tokens = {
        "weft-admin-token": {"admin-token": "a" * 64},
        "weft-route-server-token": {"route-server-token": "r" * 64},
    }
    pod = pod_of(controller, as_kubelet_mounts(tmp_path / "secrets", tokens, 10001))
    (tmp_path / "pod.yaml").write_text(yaml.safe_dump(pod))
    said(podman, "kube", "play", "--network", "none", str(tmp_path / "pod.yaml"))
    name = f"{pod['metadata']['name']}-controller"
    weft = ("exec", name, "weft")
    until(lambda: subprocess.run([*podman, *weft, "vcp", "list"], capture_output=True, check=False).returncode == 0)
    assert pod["metadata"]["name"] in said(podman, *weft, "replica", "list")
    ask = "import sys, urllib.request as r; r.urlopen(r.Request(sys.argv[1], headers={'Authorization': sys.argv[2]}))"
    container = controller["spec"]["template"]["spec"]["containers"][0]
    probed = [container[probe]["httpGet"]["path"] for probe in ("readinessProbe", "livenessProbe")]
    for path in (*probed, "/api/v1/vcps"):
        said(podman, "exec", name, "python3", "-c", ask, f"http://127.0.0.1:8080{path}", f"Bearer {'a' * 64}")
    assert said(podman, "exec", name, "stat", "-c", "%a %u", "/run/secrets/weft/admin-token") == "400 10001"
