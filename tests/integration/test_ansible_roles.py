"""The roles of the collection `weft.weft` on hosts with systemd and nothing but Debian: a controller and a cloudlet
come up, and a second run changes nothing (docs/operate/ansible.md)."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.paths import ROOT
from lab.patience import until
from tests.ansible.playbook import Ansible
from tests.integration.installing import differing, said
from tests.integration.towns import SERVER, Town, build, signing_key, towns

pytestmark = pytest.mark.lab

Json = dict[str, Any]
HOSTS = ("town1", "town2")
SPEAKER = "192.0.2.11"
TOKEN = "5f" * 32
SETTINGS: Json = {
    "WEFT_LISTEN": "127.0.0.1:8080",
    "WEFT_AGENT_LISTEN": "0.0.0.0:8443",
    "WEFT_AGENT_TLS_ONLY": True,
    "WEFT_DATABASE_URL": "sqlite+aiosqlite:////var/lib/weft/weft.db",
    "WEFT_AUTHORITY": "/var/lib/weft/authority",
    "WEFT_ROUTE_SERVERS": [{"name": "rs1", "address": SPEAKER, "control": f"http://{SPEAKER}:9179"}],
    "WEFT_ROUTE_SERVER_TOKEN_FILE": "/etc/weft/route-server-token",
}
SPEAKS = f"NAME=rs1\nADDRESS={SPEAKER}\nASN=65000\nTWIN=\nOPTIONS=\n"


def role(name: str) -> Json:
    return {"ansible.builtin.include_role": {"name": f"weft.weft.{name}"}}


def playbook(folder: Path) -> list[Json]:
    """Return the plays: a controller with its route server, a cloudlet in its region, and the cloudlet's host."""
    packages = {"weft_repository": f"http://{SERVER}"}
    secret = {
        "content": TOKEN,
        "dest": "/etc/weft/route-server-token",
        "owner": "weft",
        "group": "weft",
        "mode": "0600",
    }
    route_server: list[Json] = [
        role("repository"),
        {"ansible.builtin.apt": {"name": ["weft-routeserver", "weft-controller"]}},
        {"ansible.builtin.copy": secret, "no_log": True},
        {"ansible.builtin.copy": {"content": SPEAKS, "dest": "/etc/weft/routeserver.env"}},
        {"ansible.builtin.systemd_service": {"name": "weft-routeserver", "state": "started", "enabled": True}},
    ]
    kept = {"flat": True, "src": "/root/c1.token", "dest": f"{folder}/c1.token"}
    region: list[Json] = [
        {"weft.weft.weft_cloudlet": {"name": "c1", "pe": "vpls", "vtep": "192.0.2.2", "token_to": "/root/c1.token"}},
        {"weft.weft.weft_endpoint": {"name": "c1-lan", "cloudlet": "c1", "prefix": "10.1.0.0/24", "ports": ["md*"]}},
        {"ansible.builtin.fetch": kept},
    ]
    controller = packages | {
        "weft_controller_settings": SETTINGS,
        "weft_controller_files": {"route-server-token": TOKEN},
    }
    agent = packages | {
        "weft_agent_cloudlet": "c1",
        "weft_agent_controllers": ["https://192.0.2.1:8443"],
        "weft_agent_token_src": f"{folder}/c1.token",
    }
    flushed: Json = {"ansible.builtin.meta": "flush_handlers"}
    return [
        {"hosts": "town1", "vars": controller, "tasks": [*route_server, role("controller"), flushed, *region]},
        {"hosts": "town2", "vars": agent, "tasks": [role("repository"), role("agent")]},
    ]


def at_hand(town: Town) -> None:
    """Let apt have Debian from the packages that are at hand: the host reaches no mirror, which Ansible's module takes
    for a failure."""
    archives = Path("var/cache/apt/archives")
    words = ["dpkg-scanpackages", "--multiversion", "."]
    found = subprocess.run(words, cwd=town.host.root / archives, capture_output=True, text=True, check=True)
    (town.host.root / archives / "Packages").write_text(found.stdout)
    said(town, "rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*")
    (town.host.root / "etc/apt/sources.list").write_text(f"deb [trusted=yes] file:/{archives} ./\n")
    said(town, "apt-get update")


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Town]]:
    folder = tmp_path_factory.mktemp("packages")
    with signing_key(folder):
        repository = build(folder)
    with towns(tmp_path_factory.mktemp("towns"), repository, HOSTS) as found:
        for town in found.values():
            at_hand(town)
            said(town, "apt-get install -y python3-apt")  # Ansible's way to apt
        said(found["town1"], f"ip address add {SPEAKER}/24 dev eth0")
        yield found


def play(ansible: Ansible, folder: Path, hosts: dict[str, Town]) -> dict[str, dict[str, int]]:
    """Run the playbook; return the counts of its recap by host."""
    file, inventory = folder / "region.yaml", folder / "hosts.json"
    file.write_text(json.dumps(playbook(folder)))
    named = {name: {"ansible_connection": "booted", "booted_pid": town.host.pid} for name, town in hosts.items()}
    inventory.write_text(
        json.dumps({"all": {"hosts": named, "vars": {"ansible_python_interpreter": "/usr/bin/python3"}}})
    )
    said = ansible.call("ansible-playbook", "--inventory", str(inventory), "--diff", str(file))
    assert TOKEN not in said, "a secret is shown"
    recap = re.findall(r"^(\w+) +: (.*)$", said.partition("PLAY RECAP")[2], re.MULTILINE)
    found = {name: {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", counts)} for name, counts in recap}
    assert set(found) == set(hosts), said
    for name, counts in found.items():
        print(name, counts, said if counts["changed"] else "", sep="\n", flush=True)
    return found


def test_a_region_by_roles(hosts: dict[str, Town], tmp_path: Path) -> None:
    plugins = str(ROOT / "tests/ansible/connection_plugins")
    ansible = Ansible(tmp_path, ANSIBLE_CONNECTION_PLUGINS=plugins, ANSIBLE_REMOTE_TEMP="/tmp/.ansible")
    ansible.install()
    first = play(ansible, tmp_path, hosts)
    assert all(counts["changed"] and not counts["failed"] for counts in first.values())
    town = hosts["town1"]
    until(
        lambda: said(town, "weft cloudlet show c1 --output json | grep -c '\"connected\": true' || true") == "1",
        "c1",
        60,
    )
    until(lambda: differing(town) == set(), "all is well", 60)
    second = play(ansible, tmp_path, hosts)
    assert {name: counts["changed"] for name, counts in second.items()} == {"town1": 0, "town2": 0}
