"""docker-compose.yml and the files that it refers to: complete, hardened, and right for the programs it starts.

If the machine has a compose tool, that tool checks the file too; the tests do not build the images."""

import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents import settings as agent_settings
from agents.leases.journal import PROOFS
from controller.settings import Settings, read_secret
from deploy.packages.package import PACKAGES
from lab import daemons
from tests import sandbox

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = ROOT / "deploy/weft.Dockerfile"
UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))
HOST_STATE = {"agent", "charon", "gobgpd", "zebra", "bgpd"}
"""The parts of a PE, which share the host's network namespace."""


def instructions(dockerfile: Path) -> list[list[str]]:
    """Return the instructions, each as a list of words, without comments and line continuations."""
    text = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", dockerfile.read_text(), flags=re.MULTILINE))
    return [shlex.split(line) for line in text.splitlines() if line.strip()]


def stages() -> dict[str, list[list[str]]]:
    """Return the instructions of each target, from its FROM on."""
    found: dict[str, list[list[str]]] = {}
    for line in instructions(DOCKERFILE):
        if line[0] == "FROM":
            here = found.setdefault(line[3], [])
        if found:
            here.append(line)
    return found


def compose_tool() -> list[str] | None:
    for tool in (["docker", "compose"], ["podman-compose"], ["docker-compose"]):
        if (
            shutil.which(tool[0])
            and not subprocess.run([*tool, "version"], capture_output=True, check=False).returncode
        ):
            return tool
    return None


@pytest.mark.parametrize("profile", ["vpls", "evpn", "ipsec", "postgres"])
def test_a_compose_tool_takes_it(profile: str) -> None:
    tool = compose_tool()
    if tool is None:
        pytest.skip("no compose tool on this machine; the other tests check the structure")
    done = subprocess.run(
        [*tool, "--profile", profile, "config"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_everything_named_is_defined() -> None:
    for name, service in SERVICES.items():
        assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"]), name
        networks = service.get("networks", [])
        assert set(networks) <= set(COMPOSE["networks"]), name
        assert set(service.get("depends_on", [])) <= set(SERVICES), name
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert (ROOT / source).exists() if source.startswith(".") else source in COMPOSE["volumes"], volume
    used = {volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}
    assert set(COMPOSE["volumes"]) <= used
    assert set(COMPOSE["secrets"]) == {secret for service in SERVICES.values() for secret in service.get("secrets", [])}


def test_secrets_are_files_that_are_made_and_that_git_does_not_see() -> None:
    made = (ROOT / "deploy/make-secrets").read_text()
    assert "/secrets/" in (ROOT / "deploy/.gitignore").read_text().splitlines()
    for secret in COMPOSE["secrets"].values():
        directory, name = secret["file"].rsplit("/", 1)
        assert directory == "deploy/secrets" and name in made


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_no_more_than_it_needs(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True and service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"] and "privileged" not in service
    assert ("network_mode" in service) == (name in HOST_STATE)
    if name not in HOST_STATE | {"postgres"}:
        assert "cap_add" not in service
    image = service["image"]
    assert "/" not in image, "images are named without a registry's host"
    if "build" in service:
        build = service["build"]
        assert (ROOT / os.path.normpath(f"{build['context']}/{build['dockerfile']}")) == DOCKERFILE
        assert image == f"weft-{build['target']}" and build["target"] in stages()


def test_the_route_servers_are_a_pair_that_differs_only_in_itself() -> None:
    one, two = (json.dumps(SERVICES[name]) for name in ("rs1", "rs2"))
    assert one != two
    swapped = {"rs1": "rs2", "172.31.240.11": "172.31.240.12", "172.31.240.12": "172.31.240.11"}
    assert re.sub("|".join(swapped), lambda found: swapped[found[0]], one) == two


def controller_settings(monkeypatch: pytest.MonkeyPatch, given: dict[str, str]) -> Settings:
    """Return the settings that a controller reads from the file's environment, with `given` in the environment of the
    compose tool."""
    environment = dict(SERVICES["controller"]["environment"])
    assert {name.removeprefix("WEFT_").lower() for name in environment} <= set(Settings.model_fields)
    for name, value in environment.items():
        monkeypatch.setenv(
            name, re.sub(r"\$\{(\w+):-(.*)\}", lambda found: given.get(found[1]) or found[2], str(value))
        )
    return Settings()


def test_the_controller_understands_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = controller_settings(monkeypatch, {})
    assert settings.agent_listen is None and not settings.agent_tls_only and settings.session_secret_file is None
    for server in settings.route_servers:
        assert SERVICES[server.name]["networks"]["fabric"]["ipv4_address"] == server.address
        assert server.control == f"http://{server.address}:9179"
        assert f"--listen={server.address}:179" in SERVICES[server.name]["command"]
    mounted = {f"/run/secrets/{secret}" for secret in SERVICES["controller"]["secrets"]}
    assert {str(settings.admin_token_file), str(settings.route_server_token_file)} <= mounted


def test_agents_are_served_over_tls_when_that_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of deploy/README.md are complete: the port is published, the secret mounted, and the agent's file
    has the URL."""
    described = (ROOT / "deploy/README.md").read_text()
    given = dict(re.findall(r"^ {6}(WEFT_\w+)=(\S+)$", described, re.MULTILINE))
    assert set(given) == {"WEFT_AUTHORITY", "WEFT_AGENT_LISTEN", "WEFT_AGENT_TLS_ONLY", "WEFT_SESSION_SECRET_FILE"}
    settings = controller_settings(monkeypatch, given)
    assert settings.agent_listen is not None and settings.agent_tls_only
    port, service = settings.agent_listen.rpartition(":")[2], SERVICES["controller"]
    assert f"${{WEFT_AGENT_PUBLISH:-127.0.0.1}}:{port}:{port}" in service["ports"] and "WEFT_AGENT_PUBLISH" in described
    assert any(line[0] == "EXPOSE" and port in line for line in stages()["controller"])
    assert str(settings.session_secret_file) in {f"/run/secrets/{secret}" for secret in service["secrets"]}
    text = (ROOT / "deploy/agent.toml").read_text()
    instead = re.sub(r"^(controller = .*)\n# (controller = .*)$", r"\2", text, flags=re.MULTILINE)
    url = agent_settings.Settings.model_validate(tomllib.loads(instead)).controller[0]
    assert (url.scheme, url.port) == ("https", int(port))
    assert url.host == service["networks"]["fabric"]["ipv4_address"]


def test_the_web_ui_is_served_when_that_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert controller_settings(monkeypatch, {}).ui_listen is None
    settings = controller_settings(monkeypatch, {"WEFT_UI_LISTEN": "0.0.0.0:8444"})
    service, mounted = SERVICES["controller"], [str(settings.ui_certificate), str(settings.ui_key)]
    assert settings.ui_listen == "0.0.0.0:8444" and "${WEFT_UI_PUBLISH:-127.0.0.1}:8444:8444" in service["ports"]
    assert set(mounted) <= {f"/run/secrets/{secret}" for secret in service["secrets"]}
    assert any(line[0] == "EXPOSE" and "8444" in line for line in stages()["controller"])


@pytest.mark.parametrize(
    ("secret", "setting"),
    [("session_secret", "WEFT_SESSION_SECRET_FILE"), ("webhook_key", "WEFT_WEBHOOK_KEY_FILE")],
)
def test_secrets_are_those_that_a_controller_takes(tmp_path: Path, secret: str, setting: str) -> None:
    """The secret that make-secrets writes is long enough, and only its owner can read it."""
    name = Path(COMPOSE["secrets"][secret]["file"]).name
    made = (ROOT / "deploy/make-secrets").read_text()
    random = re.search(r"^random\(\) .*$", made, re.MULTILINE)
    assert random is not None and "umask 077" in made
    chown = next(line for line in made.splitlines() if line.startswith("chown 10001 "))
    assert f"secrets/{name}" in chown.split() and f" {name} " in made
    script = f"umask 077\n{random[0]}\nrandom >{name}"
    subprocess.run(["sh", "-euc", script], cwd=tmp_path, check=True)
    assert read_secret(tmp_path / name, setting)


def test_the_agent_understands_its_file() -> None:
    settings = agent_settings.load(ROOT / "deploy/agent.toml")
    address = SERVICES["controller"]["networks"]["fabric"]["ipv4_address"]
    assert str(settings.controller[0]) == f"http://{address}:8080/"
    assert f"/run/secrets/{SERVICES['agent']['secrets'][0]}" == str(settings.token_file)
    assert f"--api-hosts {settings.gobgp.api} " in SERVICES["gobgpd"]["command"][0]
    assert all(str(settings.frr.vty_dir) in SERVICES[name]["command"] for name in ("zebra", "bgpd"))


def test_gobgpds_api_is_a_socket_for_root_alone() -> None:
    """A user of the socket may read keys of sessions and announce routes. Unit, containers and the agent's default
    agree."""
    socket = agent_settings.GobgpSettings().api
    assert agent_settings.load(ROOT / "deploy/agent.toml").gobgp.api == socket
    unit = sandbox.unit(ROOT / "deploy/systemd/weft-gobgpd.service")
    assert f"--api-hosts {socket} " in unit["ExecStart"][0]
    [directory] = unit["RuntimeDirectory"]
    assert socket.startswith(f"unix:///run/{directory}/")
    assert unit["RuntimeDirectoryMode"] == ["0700"] and unit["UMask"] == ["0077"]
    assert "RuntimeDirectoryPreserve" not in unit, "what one that was killed has left keeps the next from starting"
    for name in ("agent", "gobgpd"):
        assert f"gobgpd:/run/{directory}" in SERVICES[name]["volumes"]
    script = SERVICES["gobgpd"]["command"][0]
    assert script.index("umask 077") < script.index(f"rm -f {socket.removeprefix('unix://')}") < script.index("exec ")


def test_the_route_servers_options_are_those_of_the_lab() -> None:
    """The lab starts the real program with these options in every run."""
    lab = set(re.findall(r'"(--[a-z-]+)"', Path(daemons.__file__).read_text()))
    for name in ("rs1", "rs2"):
        assert {option.split("=")[0] for option in SERVICES[name]["command"]} <= lab
    unit = (ROOT / "deploy/systemd/weft-routeserver.service").read_text()
    used = "".join(line for line in unit.splitlines() if not line.startswith("#"))
    assert set(re.findall(r" (--[a-z-]+)", used)) <= lab


def test_images_stand_on_a_pinned_debian() -> None:
    [base] = [line[1] for line in instructions(DOCKERFILE) if line[0] == "ARG"]
    assert re.fullmatch(r"BASE=debian:\d+-slim", base), "a short name with a release"
    assert [lines[0][1] for lines in stages().values()] == ["${BASE}", "base", "base", "base"]
    text = DOCKERFILE.read_text()
    assert not re.search(r"pip install|go install|curl |wget |^COPY|^ADD", text, re.MULTILINE), "packages alone"


@pytest.mark.parametrize("target", ["controller", "routeserver", "agent"])
def test_an_image_is_its_package(target: str) -> None:
    lines = stages()[target]
    installed = {word for line in lines for word in line if word.startswith("weft-")} & PACKAGES.keys()
    assert f"weft-{target}" in installed
    [entry] = [line for line in lines if line[0] == "ENTRYPOINT"]
    assert entry[1].strip("[]") == f"weft-{target}"


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_units(unit: Path) -> None:
    service = sandbox.unit(unit)
    program = Path(service["ExecStart"][0].split()[0])
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert program.name in {*scripts, "weft-routeserver", "gobgpd", "charon"}
    if service.get("Type") == ["oneshot"]:
        assert unit.with_suffix(".timer").is_file()
        return
    assert service["Restart"] == ["on-failure"] and service["WantedBy"] == ["multi-user.target"]


MOST_EXPOSED = {
    "weft-agent": 3.5,
    "weft-backup": 1.5,
    "weft-charon": 2.2,
    "weft-controller": 1.5,
    "weft-gobgpd": 2.0,
    "weft-routeserver": 2.0,
}
"""The maximum exposure of each unit, of 10, as `systemd-analyze security` counts. The agent needs the packet filter,
all sockets and machines."""
CAPABILITIES = {
    "weft-backup": set(),
    "weft-agent": {"CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_NET_BIND_SERVICE", "CAP_DAC_OVERRIDE", "CAP_CHOWN"},
    "weft-charon": {"CAP_NET_ADMIN", "CAP_NET_BIND_SERVICE"},
    "weft-controller": set(),
    "weft-gobgpd": {"CAP_NET_BIND_SERVICE"},
    "weft-routeserver": {"CAP_NET_BIND_SERVICE"},
}


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_units_leave_no_more_than_is_needed(unit: Path) -> None:
    service = sandbox.unit(unit)
    assert service["NoNewPrivileges"] == ["yes"] and service["ProtectSystem"] == ["strict"]
    assert set(sandbox.words(service, "CapabilityBoundingSet")) == CAPABILITIES[unit.stem]
    assert set(sandbox.words(service, "AmbientCapabilities")) <= CAPABILITIES[unit.stem]
    assert {"User", "DynamicUser"} & set(service) or unit.stem == "weft-agent"
    assert service["SystemCallFilter"][0].startswith("@system-service") and service["UMask"] == ["0077"]
    assert not any("PASSWORD" in value or "TOKEN=" in value for value in service.get("Environment", []))


@pytest.mark.parametrize("name", ["agent", "charon", "gobgpd"])
def test_a_container_has_what_its_unit_has(name: str) -> None:
    assert {f"CAP_{each}" for each in SERVICES[name]["cap_add"]} == CAPABILITIES[f"weft-{name}"]


def test_machines_outlive_the_agent() -> None:
    """Machines are the agent's child processes; the proof that its journals are the latest outlives the agent too."""
    agent = sandbox.unit(ROOT / "deploy/systemd/weft-agent.service")
    assert agent["KillMode"] == ["process"] and agent["RuntimeDirectoryPreserve"] == ["yes"]
    assert f"/run/{agent['RuntimeDirectory'][0]}" == str(PROOFS)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze on this machine")
@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_systemd_takes_them(unit: Path, tmp_path: Path) -> None:
    """The programs are replaced by existing ones, as the unit is not responsible for their presence."""
    known = tmp_path / unit.name
    known.write_text(re.sub(r"/usr/(bin|lib/weft/bin|lib/ipsec)/[a-z-]+", "/bin/true", unit.read_text()))
    done = subprocess.run(["systemd-analyze", "verify", str(known)], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and unit.name not in done.stderr, done.stderr
    threshold = f"--threshold={MOST_EXPOSED[unit.stem] * 10:.0f}"
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", threshold, str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_agent_s_image_has_a_hypervisor() -> None:
    """The image installs QEMU of the release that lab/qemu finds, as everywhere else."""
    assert PACKAGES["weft-agent"].files["usr/lib/weft/bin/weft-qemu"] == "lab/qemu"
    assert any(line[0] == "RUN" and "/usr/lib/weft/bin/weft-qemu" in line for line in stages()["agent"])


def test_the_daemons_have_units() -> None:
    assert [unit.stem for unit in UNITS] == sorted(CAPABILITIES)


def test_scripts_are_clean() -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("no shellcheck on this machine")
    subprocess.run(["shellcheck", str(ROOT / "deploy/make-secrets")], check=True)
