"""The Helm chart: objects that Kubernetes takes, settings that the programs take, and containers without rights."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.settings import Settings
from lab import daemons
from tests.chart.rendering import CHART, KUBERNETES, PLAIN, SERVERS, TOOLS, NotRendered, helm, one, rendered

pytestmark = pytest.mark.slow

VALUES: list[dict[str, Any]] = [
    {"routeServers": SERVERS},
    PLAIN,
    {
        "routeServers": SERVERS[:1],
        "secrets": {"metricsToken": "weft-metrics-token"},
        "routeServer": {"options": ["-v"]},
    },
    {"controller": {"database": {"url": "postgresql+asyncpg://weft@db/weft"}}, "secrets": {"database": ""}},
]
NAMES = ("pair", "plain", "metrics", "no-password")


@pytest.fixture(params=range(len(VALUES)), ids=NAMES)
def objects(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    return rendered(VALUES[request.param])


def pods(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [thing["spec"]["template"]["spec"] for thing in objects if thing["kind"] == "StatefulSet"]


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [*pod["initContainers"], *pod["containers"]]


def environment(objects: list[dict[str, Any]]) -> dict[str, str]:
    pod = one(objects, "StatefulSet", "region-controller")["spec"]["template"]["spec"]
    return {given["name"]: given.get("value", "region-controller-0") for given in pod["containers"][0]["env"]}


@pytest.mark.parametrize("release", KUBERNETES)
def test_kubernetes_takes_its_objects(objects: list[dict[str, Any]], release: str, tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    check: list[str | Path] = [
        TOOLS / "kubernetes-validate",
        "--strict",
        "--no-warn",
        "--kubernetes-version",
        release,
        file,
    ]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_kubernetes_would_refuse_a_misspelt_field(tmp_path: Path) -> None:
    """The check itself can fail."""
    [thing] = [found for found in rendered(PLAIN) if found["kind"] == "StatefulSet"]
    thing["spec"]["replica"] = 2
    file = tmp_path / "objects.yaml"
    file.write_text(yaml.safe_dump(thing))
    done = subprocess.run(
        [TOOLS / "kubernetes-validate", "--strict", file], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0 and "replica" in done.stdout + done.stderr


def test_helm_finds_nothing_to_say() -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", values={"routeServers": SERVERS})


def test_the_controller_understands_its_settings(
    objects: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = environment(objects)
    assert {name.removeprefix("WEFT_").lower() for name in given} <= set(Settings.model_fields)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    settings = Settings()
    assert settings.agent_tls_only == settings.enrolled_only == (settings.authority is not None)


def test_a_pair_of_route_servers_names_each_other() -> None:
    objects = rendered({"routeServers": SERVERS})
    told = json.loads(environment(objects)["WEFT_ROUTE_SERVERS"])
    assert [(server["name"], server["address"]) for server in told] == [("rs1", "192.0.2.11"), ("rs2", "192.0.2.12")]
    for here, there in zip(SERVERS, reversed(SERVERS), strict=True):
        pod = one(objects, "StatefulSet", f"region-{here['name']}")["spec"]["template"]["spec"]
        assert pod["hostNetwork"] and pod["nodeSelector"] == {"kubernetes.io/hostname": here["node"]}
        arguments = pod["containers"][0]["args"]
        assert f"--listen={here['address']}:179" in arguments and f"--twin=http://{there['address']}:9179" in arguments


def test_the_route_servers_options_are_those_of_the_program() -> None:
    known = Path(daemons.__file__).read_text()
    pod = one(rendered({"routeServers": SERVERS}), "StatefulSet", "region-rs1")["spec"]["template"]["spec"]
    for argument in pod["containers"][0]["args"]:
        assert f'"{argument.partition("=")[0]}"' in known, argument


def test_no_container_has_more_than_it_needs(objects: list[dict[str, Any]]) -> None:
    for pod in pods(objects):
        assert pod["automountServiceAccountToken"] is False
        for container in containers(pod):
            may = container["securityContext"]
            assert may["allowPrivilegeEscalation"] is False and may["readOnlyRootFilesystem"] is True
            assert may["capabilities"]["drop"] == ["ALL"]
            allowed = ["NET_BIND_SERVICE"] if container["name"] == "routeserver" else []
            assert may["capabilities"].get("add", []) == allowed
            assert container["image"].startswith("registry.example/weft/weft-")


def test_every_volume_that_is_mounted_is_there(objects: list[dict[str, Any]]) -> None:
    for thing in objects:
        if thing["kind"] == "StatefulSet":
            pod, claims = thing["spec"]["template"]["spec"], thing["spec"].get("volumeClaimTemplates", [])
            there = {v["name"] for v in pod["volumes"]} | {claim["metadata"]["name"] for claim in claims}
            assert {mount["name"] for c in containers(pod) for mount in c["volumeMounts"]} == there


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"controller": {"replicas": 2, "database": {"url": ""}}}, "more than one controller needs PostgreSQL"),
        ({"secrets": {"authority": ""}}, "secrets.sessionSecret needs secrets.authority"),
        ({"controler": {}}, "controler"),
        ({"controller": {"settings": {"LISTEN": "x"}}}, "LISTEN"),
        ({"routeServers": [{"name": "rs1", "address": "192.0.2.11"}]}, "node"),
        ({"routeServers": [{"name": "RS 1", "address": "192.0.2.11", "node": "edge-1"}]}, "name"),
        ({"routeServers": [SERVERS[0], SERVERS[0]]}, "two route servers are called rs1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_values_are_refused_by_name(values: dict[str, Any], words: str) -> None:
    with pytest.raises(NotRendered, match=words):
        rendered(values)


def test_every_value_is_used_and_checked() -> None:
    """A value that no template reads, or that the schema does not know, is one that an operator sets in vain."""
    templates = "".join(path.read_text() for path in sorted((CHART / "templates").iterdir()))
    schema = json.loads((CHART / "values.schema.json").read_text())["properties"]
    for name, value in yaml.safe_load((CHART / "values.yaml").read_text()).items():
        assert name in schema and name in templates
        for inner in value if isinstance(value, dict) and name != "metricsFrom" else ():
            assert inner in schema[name]["properties"] and f".{inner}" in templates, f"{name}.{inner}"
