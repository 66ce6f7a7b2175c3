"""`weft gather`: the bundle names its files, has what a reader needs, and no secret that any answer has."""

import json
import re
import stat
import tarfile
from pathlib import Path
from typing import Any

import httpx
import pytest

from controller.cli.bundle.parts import NAMES, PARTS
from controller.cli.bundle.words import vocabulary
from tests.house import vocabulary as house
from tests.unit.cli.conftest import Controller, Weft, problem
from tests.unit.cli.described import answer, description

PEM = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJx5zQ0b3mXhJ9kq\n-----END PRIVATE KEY-----"
PASSWORD, PROXY = "Pa55-w0rd", "pr0xyPa55"

SECRETS = {
    "a one-time token": ("9kQ2mZ4vR8sT1xW6yB3nL5pD7fH0jC", "9kQ2mZ4vR8sT1xW6yB3nL5pD7fH0jC.d41d8cd98f00b204e9800998"),
    "a credential": ("h7GkPq_2xV-9LmN4", "Bearer h7GkPq_2xV-9LmN4"),
    "a session key": ("Zx81KqpLmnB27YtRew", "password Zx81KqpLmnB27YtRew for 192.0.2.1"),
    "a secret in hex": ("5f" * 32, "the secret is " + "5f" * 32),
    "a database's password": (PASSWORD, f"cannot connect: postgresql+asyncpg://weft:{PASSWORD}@db:5432/weft"),
    "a simple password": ("swordfish", "password=swordfish"),
    "a password of digits and words": ("swordfish-2024", "tried 'swordfish-2024' twice"),
    "a private key": ("MC4CAQAwBQYDK2VwBCIEIJx5zQ0b3mXhJ9kq", PEM),
    "an OIDC secret": ("oidc~Sup3rS3cret", 'client_secret: "oidc~Sup3rS3cret"'),
    "a proxy's credentials": (PROXY, f"http://ana:{PROXY}@192.0.2.9:3128/"),
    "a JWT": ("eyJhbGciOiJIUzI1NiJ9", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbmEifQ.c2lnbmF0dXJl"),
    "a zone of an address": ("swordfish", "fe80::1%swordfish"),
}
"""The part of each secret that may be nowhere, and the text that has it."""

SERVED = [part.path for part in PARTS] + [where for _, where in NAMES]
SERVED += ["/api/v1/events", "/api/v1/policy", "/api/v1/audit", "/healthz"]


def serve(controller: Controller, text: str, extra: dict[str, Any]) -> None:
    """Answer everything that is asked with that text."""
    for where in set(SERVED):
        found = answer(where, text, extra)
        if isinstance(found, dict) and "next" in found:
            found["next"] = None
        controller.answers["GET", where] = found
    for item in controller.answers["GET", "/api/v1/cloudlets"]["items"]:  # type: ignore[index]
        item |= {"name": "c1", "unmanaged": False}
    controller.answers["GET", "/api/v1/cloudlets/c1/report"] = answer("/api/v1/cloudlets/{name}/report", text, extra)
    metrics = (
        f'# HELP weft_leading {text}\nweft_leading{{name="{text}",token="{text}"}} 1.0\n{text}\n{text}{{a="b"}} 1\n'
    )
    controller.answers["GET", "/metrics"] = httpx.Response(200, text=metrics, headers={"Content-Type": "text/plain"})


def unpacked(file: Path) -> dict[str, str]:
    """Return the files of a bundle."""
    with tarfile.open(file) as tar:
        assert {member.mode for member in tar} == {0o600}
        return {member.name.split("/", 1)[1]: tar.extractfile(member).read().decode() for member in tar}  # type: ignore[union-attr]


@pytest.mark.parametrize("anonymous", [False, True])
@pytest.mark.parametrize("kind", SECRETS)
def test_no_secret_is_in_the_bundle(
    controller: Controller, weft: Weft, tmp_path: Path, kind: str, anonymous: bool
) -> None:
    secret, text = SECRETS[kind]
    serve(controller, text, {"token": text, "password": text, text: text, "nested": {"key": [text]}})
    to = tmp_path / "bundle.tar.gz"
    result = weft("gather", "--to", str(to), "--audit", "5", *(["--anonymous"] if anonymous else []))
    assert result.code == 0, result.err
    found = unpacked(to)
    assert len(found) >= len(PARTS) + 6
    for name, content in found.items():
        assert secret not in content and secret not in name, f"{name}: {kind}"
    assert secret not in result.out


def test_a_refusal_does_not_carry_a_secret(controller: Controller, weft: Weft, tmp_path: Path) -> None:
    serve(controller, "active", {})
    text = SECRETS["a database's password"][1]
    controller.answers["GET", "/api/v1/doctor"] = problem(503, "Unavailable", text)
    controller.answers["GET", "/api/v1/audit"] = problem(403, "Forbidden", "the role viewer may not look at audit")
    to = tmp_path / "b.tar.gz"
    result = weft("gather", "--to", str(to), "--audit", "5")
    assert result.code == 0 and "not in it: doctor.json" in result.out
    contents = json.loads(unpacked(to)["contents.json"])
    told = {one["part"]: one["reason"] for one in contents["not_asked"]}
    assert told.keys() == {"doctor.json", "audit.json"}
    assert "the role viewer may not look at audit" in told["audit.json"]
    assert "Pa55" not in json.dumps(told)


def region(controller: Controller) -> None:
    """Serve a small region."""
    serve(controller, "active", {})
    cloudlet = {"name": "c1", "pe": "vpls", "vtep": "198.51.100.7", "state": "active", "asn": 65010, "unmanaged": False}
    cloudlet |= {"labels": {"city": "turin"}, "latitude": 45.1, "sessions": {"rs1": "signed"}}
    answers: dict[str, Any] = {
        "cloudlets": [cloudlet],
        "endpoints": [{"name": "c1-lan", "cloudlet": "c1", "prefix": "10.1.0.0/24", "gateway": "10.1.0.1"}],
        "vcps": [{"name": "blue", "members": ["c1-lan"], "description": "of ana"}],
        "devices": [{"name": "phone-of-ana"}],
        "vms": [],
        "route-servers": [{"name": "rs1", "address": "192.0.2.1", "sessions": [{"peer": "c1", "state": "active"}]}],
        "replicas": [{"name": "north.example:7", "release": "1.4.3.dev7+g0123abc", "alive": True}],
    }
    for noun, items in answers.items():
        controller.answers["GET", f"/api/v1/{noun}"] = {"items": items, "next": None}
    event = {
        "id": 7,
        "at": "2026-01-02T03:04:05.5Z",
        "type": "lease-granted",
        "subject": "phone-of-ana",
        "source": None,
    }
    event |= {"text": "phone-of-ana got 10.1.0.9 at c1-lan (02:00:5e:00:00:01), 1:2 for 3600 s", "data": {"lease": 9}}
    controller.answers["GET", "/api/v1/events"] = {"items": [event], "next": None}
    policy = (
        "# written by ana, key swordfish\napiVersion: weft/v1\nvcps:\n  blue:\n    members: [c1-lan]  # swordfish\n"
    )
    controller.answers["GET", "/api/v1/policy"] = {"text": policy, "revision": 1}


def test_a_bundle_has_what_a_reader_needs(controller: Controller, weft: Weft, tmp_path: Path) -> None:
    region(controller)
    to = tmp_path / "weft.tar.gz"
    result = weft("gather", "--to", str(to), "--output", "json")
    assert result.code == 0, result.err
    assert stat.S_IMODE(to.stat().st_mode) == 0o600
    found = unpacked(to)
    contents = json.loads(found["contents.json"])
    assert {one["name"]: one["bytes"] for one in contents["files"]} == {
        name: len(text.encode()) for name, text in found.items() if name != "contents.json"
    }
    assert result.json["files"] == contents["files"] and not contents["not_asked"]
    [cloudlet] = json.loads(found["intent/cloudlets.json"])
    assert cloudlet["vtep"] == "198.51.100.7" and cloudlet["sessions"] == {"rs1": "signed"}
    assert cloudlet["labels"] == {"city": "turin"} and "latitude" not in cloudlet
    assert json.loads(found["sessions.json"]) == [{"route_server": "rs1", "peer": "c1", "state": "active"}]
    assert json.loads(found["replicas.json"])[0]["release"] == "1.4.3.dev7+g0123abc"
    [event] = json.loads(found["events.json"])
    assert event["text"] == "phone-of-ana got 10.1.0.9 at c1-lan (02:00:5e:00:00:01), 1:2 for 3600 s"
    assert event["data"] == {"lease": 9}
    assert "description" not in found["intent/vcps.json"]
    assert found["policy.yaml"] == "apiVersion: weft/v1\nvcps:\n  blue:\n    members: [c1-lan]\n"
    assert "reports/c1.json" in found and 'weft_leading{name="active"} 1.0' in found["metrics.txt"]
    assert "audit.json" not in found


def test_parts_may_be_left_out(controller: Controller, weft: Weft, tmp_path: Path) -> None:
    region(controller)
    to = tmp_path / "weft.tar.gz"
    assert weft("gather", "--to", str(to), "--no-policy", "--events", "0", "--audit", "1").code == 0
    found = unpacked(to)
    assert "policy.yaml" not in found and json.loads(found["events.json"]) == []
    assert json.loads(found["audit.json"])


def test_pseudonyms_are_consistent_and_say_nothing(controller: Controller, weft: Weft, tmp_path: Path) -> None:
    region(controller)
    bundles = []
    for number in range(2):
        to = tmp_path / f"{number}.tar.gz"
        assert weft("gather", "--to", str(to), "--anonymous").code == 0
        bundles.append(unpacked(to))
    found = bundles[0]
    everything = "\n".join([*found, *found.values()])
    real = (
        "c1",
        "c1-lan",
        "blue",
        "turin",
        "phone-of-ana",
        "rs1",
        "north",
        "65010",
        "198.51.100.7",
        "10.1.0.",
        "02:00:5e",
    )
    for name in real:
        assert not re.search(rf"(?<![\w.]){re.escape(name)}(?![\w])", everything), name
    [cloudlet], [endpoint] = (json.loads(found[f"intent/{noun}.json"]) for noun in ("cloudlets", "endpoints"))
    [vcp], [event] = json.loads(found["intent/vcps.json"]), json.loads(found["events.json"])
    assert endpoint["cloudlet"] == cloudlet["name"] and vcp["members"] == [endpoint["name"]]
    assert re.fullmatch(r"cloudlet-[0-9a-f]{8}", cloudlet["name"]) and cloudlet["state"] == "active"
    assert endpoint["prefix"].endswith(".0/24"), "prefixes keep their lengths"
    lan = endpoint["prefix"].removesuffix("0/24")
    assert endpoint["gateway"].startswith(lan), "an address stays in its LAN"
    device, mac = r"device-[0-9a-f]{8}", r"\(02(:[0-9a-f]{2}){5}\)"
    said = rf"{device} got {re.escape(lan)}\d+ at {endpoint['name']} {mac}, \d+:2 for 3600 s"
    assert re.fullmatch(said, event["text"])
    assert f"reports/{cloudlet['name']}.json" in found and endpoint["name"] in found["policy.yaml"]
    assert bundles[1]["intent/cloudlets.json"] == found["intent/cloudlets.json"], "the key is kept"


def test_a_file_is_not_overwritten_and_none_stays_after_a_failure(
    controller: Controller, weft: Weft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    region(controller)
    to = tmp_path / "weft.tar.gz"
    to.write_text("mine")
    result = weft("gather", "--to", str(to))
    assert result.code == 2 and "--to: cannot make" in result.err and to.read_text() == "mine"
    monkeypatch.chdir(tmp_path)
    controller.answers["GET", "/healthz"] = problem(503, "Unavailable", "not now")
    assert weft("gather").code == 4
    assert [path.name for path in tmp_path.glob("*.tar.gz")] == ["weft.tar.gz"]
    controller.answers["GET", "/healthz"] = {"status": "ok"}
    assert weft("gather").code == 0
    assert len(list(tmp_path.glob("weft-gather-*Z.tar.gz"))) == 1


def test_every_field_that_is_kept_is_one_of_the_api() -> None:
    known = {
        name for schema in description()["components"]["schemas"].values() for name in schema.get("properties", {})
    }
    for part in PARTS:
        assert part.fields <= known, part.file


def test_the_vocabulary_has_the_words_of_the_project() -> None:
    words = set(house.words())
    missing = words - vocabulary()
    assert len(missing) < len(words) / 20, f"make vocabulary: it lacks {sorted(missing)[:40]}"
    assert all(re.fullmatch(r"[a-z]{1,20}", word) for word in house.known())
    assert not {"swordfish", "hunter"} & vocabulary()
