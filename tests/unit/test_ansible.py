"""The Ansible collection against a controller in a process of its own: the first run changes, the second does not,
check mode changes nothing and tells all, and wrong input is refused with the option and the remedy."""

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from controller.cli.main import run
from tests.ansible.playbook import COLLECTION, Ansible, Json, Played
from tests.unit.controller.webhook_receiver import certificate
from tests.unit.threaded import served

pytestmark = pytest.mark.slow

TOKEN = "the-operators-token-for-ansible"
MODULES = sorted(path.stem for path in (COLLECTION / "plugins" / "modules").glob("*.py"))

Task = tuple[str, Json]
CLOUDLETS: list[Task] = [
    ("weft_cloudlet", {"name": f"c{n}", "pe": "vpls", "vtep": f"198.51.100.{n}", "unmanaged": True}) for n in (1, 2)
]
LANS: list[Task] = [
    ("weft_endpoint", {"name": f"c{n}-lan", "cloudlet": f"c{n}", "prefix": f"10.{n}.0.0/24"}) for n in (1, 2)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ansible")


@pytest.fixture(scope="module")
def installed(folder: Path) -> Ansible:
    made = Ansible(folder)
    made.install()
    return made


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The URL of a new controller, over TCP; its socket is in the test's folder."""
    (tmp_path / "token").write_text(TOKEN)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        tcp = f"127.0.0.1:{free.getsockname()[1]}"
    environment = {
        **os.environ,
        "WEFT_DATABASE_URL": f"sqlite+aiosqlite:///{tmp_path}/weft.db",
        "WEFT_LISTEN": tcp,
        "WEFT_SOCKET": str(tmp_path / "c.sock"),
        "WEFT_ADMIN_TOKEN_FILE": str(tmp_path / "token"),
        "WEFT_AGENT_TIMEOUT": "0.2",
    }
    command = [sys.executable, "-m", "controller.main"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "listening" in process.stdout.readline()
    yield f"http://{tcp}"
    process.terminate()
    process.stdout.close()
    assert process.wait(10) == 0


@pytest.fixture
def ansible(installed: Ansible, url: str, tmp_path: Path) -> Ansible:
    """Ansible that asks the controller over its socket."""
    installed.environment["WEFT_URL"] = f"unix://{tmp_path}/c.sock"
    return installed


@pytest.fixture
def weft(url: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that runs `weft` and returns its document."""
    monkeypatch.setenv("WEFT_URL", f"unix://{tmp_path}/c.sock")

    def call(*words: str) -> Any:
        assert run([*words, "-o", "json"]) in (0, 1)
        return json.loads(capfd.readouterr().out)

    return call


def names(weft: Any, noun: str) -> list[str]:
    return [one["name"] for one in weft(noun, "list")]


def twice(ansible: Ansible, *tasks: tuple[str, Json]) -> Played:
    """Run tasks, and again; the second run changes nothing. Return the first."""
    first = ansible.play(*tasks)
    assert first.failures == []
    again = ansible.play(*tasks)
    assert (again.failures, again.changed) == ([], [False] * len(tasks))
    return first


def test_objects_are_made_changed_and_removed(ansible: Ansible, weft: Any) -> None:
    device: Task = ("weft_device", {"name": "m1", "mac": "0200.5E00.0001", "vm": {"client_id": "0102"}})
    other: Task = ("weft_device", {"name": "m2", "mac": "02-00-5e-00-00-02"})
    vm: Task = ("weft_vm", {"name": "web", "device": "m2", "endpoint": "c3-lan", "image": "debian", "memory": "512M"})
    third: Task = (
        "weft_cloudlet",
        {"name": "c3", "pe": "vpls", "vtep": "198.51.100.3", "labels": {"n": 3, "city": "rome"}},
    )
    lan: Task = ("weft_endpoint", {"name": "c3-lan", "cloudlet": "c3", "prefix": "10.3.0.0/24"})
    six: Task = ("weft_endpoint", LANS[1][1] | {"prefix6": "2001:DB8:2::/64"})
    pool: Task = ("weft_vcp", {"name": "blue", "description": "a pool", "members": ["c2-lan", "c1-lan"]})
    made = twice(ansible, *CLOUDLETS, LANS[0], six, third, lan, device, other, vm, pool)
    assert made.changed == [True] * 10
    assert made.results[4]["diff"]["after"]["labels"] == {"n": "3", "city": "rome"}
    assert made.results[4]["cloudlet"]["state"] == "invited" and "token" not in made.results[4]
    assert "the token of c3 is not kept" in made.results[4]["warnings"][0]
    assert weft("vcp", "show", "blue")["members"] == ["c1-lan", "c2-lan"]
    assert len(made.results[9]["changes"]) == 2 and made.results[9]["vcp"]["description"] == "a pool"

    third[1].update(labels={"city": "ostia"}, latitude=41.9, longitude=12.5)
    lan[1].update(mtu=1400, ports=["md*"], tenant="acme")
    six[1].update(prefix6="")
    device[1].update(mac="02:00:5e:00:00:09", vm={})
    vm[1].update(memory="1G", check="tcp:80", options={"cmdline": "quiet"})
    pool[1].update(members=["c2-lan"])
    tried = ansible.play(third, lan, device, vm, pool, six, check=True)
    assert (tried.failures, tried.changed) == ([], [True] * 6)
    assert tried.results[1]["diff"]["before"] == {"mtu": 1450, "ports": [], "tenant": None}
    assert tried.results[1]["change"]["dry_run"] and tried.results[1]["endpoint"]["mtu"] == 1450
    assert weft("cloudlet", "show", "c3")["labels"] == {"n": "3", "city": "rome"}, "check mode changes nothing"
    assert weft("vcp", "show", "blue")["members"] == ["c1-lan", "c2-lan"]
    changed = twice(ansible, third, lan, device, vm, pool, six)
    assert changed.changed == [True] * 6 and changed.results[0]["change"]["generation"] > 0
    assert weft("cloudlet", "show", "c3")["labels"] == {"city": "ostia"}
    assert weft("endpoint", "show", "c2-lan")["prefix6"] is None
    assert weft("device", "list")[0]["vm"] is None and weft("vm", "show", "web")["memory"] == 1 << 30
    assert weft("vm", "show", "web")["options"] == {"cmdline": "quiet"}

    held = ansible.play(("weft_vcp", {"name": "blue", "state": "absent"}))
    assert "state: blue has members, c2-lan: `force: true` lets them leave first" in held.message
    order = [("weft_vm", "web"), ("weft_device", "m1"), ("weft_device", "m2"), ("weft_vcp", "blue")]
    order += [("weft_endpoint", f"c{n}-lan") for n in (1, 2, 3)] + [("weft_cloudlet", f"c{n}") for n in (1, 2, 3)]
    gone: list[tuple[str, Json]] = [(module, {"name": name, "state": "absent"}) for module, name in order]
    gone[3][1]["force"] = True
    assert ansible.play(*gone[:6], check=True).changed == [True] * 6
    assert names(weft, "device") == ["m1", "m2"]
    assert twice(ansible, *gone).changed == [True] * 10
    assert [names(weft, noun) for noun in ("vm", "device", "vcp", "endpoint", "cloudlet")] == [[]] * 5


def test_a_token_is_a_file_and_never_a_result(ansible: Ansible, weft: Any, tmp_path: Path) -> None:
    to = tmp_path / "c1.token"
    task = ("weft_cloudlet", {"name": "c1", "pe": "vpls", "vtep": "198.51.100.1", "token_to": str(to)})
    assert ansible.play(task, check=True).changed == [True] and not to.exists()
    assert names(weft, "cloudlet") == []
    first = twice(ansible, task)
    assert stat.S_IMODE(to.stat().st_mode) == 0o600 and first.results[0]["token_to"] == str(to)
    assert to.read_text().strip() not in first.output + json.dumps(first.results)
    there = ansible.play(("weft_cloudlet", {"name": "c2", "pe": "vpls", "vtep": "198.51.100.2", "token_to": str(to)}))
    assert f"token_to: cannot make {to}: File exists" in there.message and names(weft, "cloudlet") == ["c1"]
    wrong = tmp_path / "c2.token"
    refused = ansible.play(("weft_cloudlet", {"name": "c2", "pe": "vpls", "vtep": "no", "token_to": str(wrong)}))
    assert "vtep: 'no' is not an IPv4 address" in refused.message and not wrong.exists()


def test_an_inventory_and_a_policy(ansible: Ansible, weft: Any, tmp_path: Path) -> None:
    file, pools, tokens = tmp_path / "inventory.yaml", tmp_path / "pools.yaml", tmp_path / "tokens"
    text = (COLLECTION.parents[1] / "policies/inventories/three-towns.yaml").read_text()
    file.write_text(text)
    pools.write_text("apiVersion: weft/v1\nvcps:\n  blue: {flavour: evpn, members: [turin-lan, milan-lan]}\n")
    inventory = ("weft_inventory", {"src": str(file), "tokens_to": str(tokens)})
    policy = ("weft_policy", {"src": str(pools)})
    tried = ansible.play(inventory, check=True)
    assert tried.changed == [True] and len(tried.results[0]["plan"]["steps"]) == 9 and not tokens.exists()
    assert tried.results[0]["diff"]["before"] == "" and tried.results[0]["diff"]["after"] == text
    assert names(weft, "cloudlet") == []
    done = twice(ansible, inventory, policy)
    assert done.changed == [True, True] and done.results[0]["tokens_of"] == ["milan", "turin"]
    token = (tokens / "turin.token").read_text().strip()
    assert token and token not in done.output + json.dumps(done.results)
    assert [result["revision"] for result in done.results] == [1, 1]
    weft("vm", "remove", "web")
    assert ansible.play(inventory).changed == [True], "drift is mended"
    assert names(weft, "vm") == ["web"]
    file.write_text(text.partition("devices:")[0])
    assert ansible.play(inventory).changed == [True] and names(weft, "device") == []
    pools.write_text(pools.read_text() + "# more\n")
    again = ansible.play(policy)
    assert again.changed == [True] and again.results[0]["revision"] == 2, "another text is another revision"


def test_another_operators_change_in_between_ends_the_task(installed: Ansible) -> None:
    """Changes name the entity tag that they are based on, and texts the mark of their plan as well."""
    asked: list[tuple[str, str | None, str | None]] = []

    async def answer(request: Request) -> Response:
        path, query = request.url.path.removeprefix("/api/v1/"), request.query_params
        if request.method == "GET":
            shown = {"name": "m1", "mac": "02:00:5e:00:00:01", "implicit": False, "vm": None, "text": ""}
            return JSONResponse(shown, headers={"ETag": '"a-1"'})
        if path == "policy/plan":
            empty: Json = {"warnings": [], "disconnects": [], "revision": None}
            return JSONResponse({"plan": {"create": ["blue"]}, "etag": '"p-7"', "planned": "4-0123456789ab"} | empty)
        asked.append((path, request.headers.get("If-Match"), query.get("planned")))
        return JSONResponse({"detail": 'It was changed meanwhile: its entity tag is now "a-2".'}, 412)

    with served(Starlette(routes=[Route("/api/v1/{rest:path}", answer, methods=["GET", "POST", "PATCH"])])) as url:
        tasks = [("weft_device", {"name": "m1", "mac": "02:00:5e:00:00:02"}), ("weft_policy", {"content": "x"})]
        played = installed.play(*[(module, options | {"url": url}) for module, options in tasks])
    assert [result["failed"] for result in played.results] == [True, True]
    assert played.message == 'It was changed meanwhile: its entity tag is now "a-2".'
    assert asked == [("devices/m1", '"a-1"', None), ("policy/apply", '"p-7"', "4-0123456789ab")]


WRONG: list[tuple[str, Json, str]] = [
    (
        "weft_cloudlet",
        {"name": "c1", "pe": "vpls", "vtep": "300.1.1.1"},
        "vtep: '300.1.1.1' is not an IPv4 address",
    ),
    ("weft_cloudlet", {"name": "C 1", "pe": "vpls", "vtep": "192.0.2.1"}, "name: "),
    ("weft_cloudlet", {"name": "c1"}, "pe: "),
    ("weft_cloudlet", {"name": "c1", "latitude": 1.0}, "latitude, longitude"),
    ("weft_cloudlet", {"name": "c1", "pe": "mpls"}, "value of pe must be one of: vpls, evpn, vpnv4, vpnv6"),
    (
        "weft_endpoint",
        {"name": "x", "cloudlet": "c9", "prefix": "10.1.0.0/24"},
        "cloudlet: there is no cloudlet 'c9'",
    ),
    ("weft_device", {"name": "m1", "mac": "ff:ff:ff:ff:ff:ff"}, "mac: "),
    (
        "weft_vm",
        {"name": "v", "memory": "lots"},
        "memory: 'lots' is neither a number of bytes nor a size such as 512M",
    ),
    ("weft_vcp", {"name": "blue", "members": ["nowhere"]}, "endpoint: there is no endpoint 'nowhere'"),
    (
        "weft_policy",
        {"content": "apiVersion: weft/v1\nvcp: {}\n"},
        "policy.yaml:2:1: unknown key 'vcp': did you mean",
    ),
    ("weft_policy", {}, "one of the following is required: src, content"),
    ("weft_policy", {"src": "/nowhere/pools.yaml"}, "src: cannot read /nowhere/pools.yaml: No such file"),
    ("weft_inventory", {"content": "a: [\n"}, "inventory.yaml:"),
    ("weft_device", {"name": "m", "url": "ftp://c"}, "url: 'ftp://c' is not a controller's URL: unix:///PATH or"),
    (
        "weft_device",
        {"name": "m", "token_file": "/nowhere/token"},
        "token_file: cannot read /nowhere/token: No such",
    ),
    ("weft_device", {"name": "m", "url": "http://127.0.0.1:9"}, "no controller at http://127.0.0.1:9: "),
]
"""Tasks that are refused, and words of the reason."""


def test_wrong_input_names_the_option(ansible: Ansible) -> None:
    played = ansible.play(*[(module, options) for module, options, _ in WRONG])
    assert len(played.failures) == len(WRONG)
    for (module, options, words), result in zip(WRONG, played.results, strict=True):
        assert words in result["msg"], f"{module} {options}: {result['msg']}"


def test_what_cannot_change_is_refused_with_the_reason(ansible: Ansible) -> None:
    ansible.play(*CLOUDLETS, *LANS, ("weft_vcp", {"name": "blue"}))
    for check in (True, False):
        wrong = [
            ("weft_cloudlet", {"name": "c1", "pe": "evpn"}),
            ("weft_endpoint", {"name": "c1-lan", "cloudlet": "c2"}),
            ("weft_vcp", {"name": "blue", "flavour": "evpn"}),
        ]
        said = [str(result["msg"]) for result in ansible.play(*wrong, check=check).results]
        assert said[0].startswith("pe: ") and "cannot be changed" in said[0], said
        assert said[1].startswith("cloudlet: ") and "cannot be changed" in said[1], said
        assert said[2] == "flavour: it is 'vpls' and it cannot change: remove the pool, and found it again"


def test_a_token_opens_the_api_and_is_not_shown(ansible: Ansible, url: str, tmp_path: Path) -> None:
    options: Json = {"name": "m1", "mac": "02:00:5e:00:00:01", "url": url}
    assert "token" in ansible.play(("weft_device", options)).message
    by_option = ansible.play(("weft_device", options | {"token": TOKEN}))
    assert by_option.changed == [True] and TOKEN not in by_option.output
    by_file = ansible.play(("weft_device", options | {"token_file": str(tmp_path / "token")}))
    assert by_file.changed == [False] and TOKEN not in by_file.output
    ansible.environment["WEFT_TOKEN"] = TOKEN
    try:
        by_variable = ansible.play(("weft_device", options))
    finally:
        del ansible.environment["WEFT_TOKEN"]
    assert by_variable.changed == [False] and TOKEN not in by_variable.output


def test_https_needs_an_authority_that_it_trusts(installed: Ansible, tmp_path: Path) -> None:
    root, tls = certificate(tmp_path)
    (tmp_path / "root.pem").write_text(root)

    async def show(request: Request) -> Response:
        return JSONResponse({"name": "m1", "mac": "02:00:5e:00:00:01", "implicit": False, "vm": None})

    with served(Starlette(routes=[Route("/api/v1/devices/m1", show)]), **tls) as url:
        options: Json = {"name": "m1", "mac": "02:00:5e:00:00:01", "url": url}
        assert installed.play(("weft_device", options | {"root_file": str(tmp_path / "root.pem")})).changed == [False]
        assert "CERTIFICATE_VERIFY_FAILED" in installed.play(("weft_device", options)).message


def test_every_module_is_documented(installed: Ansible) -> None:
    words = [f"weft.weft.{name}" for name in MODULES]
    told = json.loads(installed.call("ansible-doc", "--json", *words).partition("{")[2].join(("{", "")))
    assert sorted(told) == words
    for name, found in told.items():
        assert found["doc"]["options"]["url"]["type"] == "str" and found["examples"] and found["return"], name
        for play in yaml.safe_load(found["examples"]):
            assert name in play, f"{name} has an example of another module"


def test_documented_options_are_those_of_the_module(installed: Ansible) -> None:
    """Each option of a module's code has its documentation, with the same type."""
    for name in MODULES:
        text = (COLLECTION / "plugins/modules" / f"{name}.py").read_text()
        told = yaml.safe_load(text.partition('DOCUMENTATION = r"""')[2].partition('"""')[0])["options"]
        code = text.partition("argument_spec={")[2]
        for option, one in told.items():
            if option in ("src", "content", "allow_disconnect") or (name == "weft_device" and option != "name"):
                continue
            assert f'"{option}": {{"type": "{one["type"]}"' in code, f"{name}: {option}"


def test_the_group_has_every_module() -> None:
    runtime = yaml.safe_load((COLLECTION / "meta/runtime.yml").read_text())
    assert sorted(runtime["action_groups"]["region"]) == MODULES


@pytest.mark.parametrize("role", ["repository", "controller", "agent"])
def test_roles_are_right_in_form(installed: Ansible, role: str, tmp_path: Path) -> None:
    play = tmp_path / "play.yaml"
    play.write_text(json.dumps([{"hosts": "localhost", "roles": [f"weft.weft.{role}"]}]))
    installed.call("ansible-playbook", "--inventory", "localhost,", "--syntax-check", str(play))
    assert "short_description" in installed.call("ansible-doc", "-t", "role", "--json", f"weft.weft.{role}")
    told = yaml.safe_load((COLLECTION / f"roles/{role}/meta/argument_specs.yml").read_text())
    options = told["argument_specs"]["main"]["options"]
    defaults = yaml.safe_load((COLLECTION / f"roles/{role}/defaults/main.yml").read_text())
    assert set(defaults) <= set(options)
