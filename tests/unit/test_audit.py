"""The audit's reading of its tools' answers: nothing that was not asked counts as being in order."""

import base64
import json
import os
import secrets as random
from pathlib import Path
from typing import Any

import pytest

from tests.audit import Answer, debian, exit_code, vulnerabilities
from tests.audit.bill import merged
from tests.audit.debian import Package
from tests.audit.licences import judged
from tests.audit.npm import of_npm_audit, packages
from tests.audit.pythons import lists, of_pip
from tests.audit.secrets import repo, scan
from tests.audit.shipped import PROGRAMS, distributions, of_go_version
from tests.audit.vulnerabilities import of_govulncheck, of_pip_audit

ROOT = Path(__file__).parents[2]


def test_exit_codes() -> None:
    good, open_, bad = Answer("a"), Answer("b", unasked=("x",)), Answer("c", found=("y",))
    assert [exit_code(each) for each in ([good], [good, open_], [bad, open_])] == [0, 2, 1]


def test_what_pip_audit_skips_was_not_asked() -> None:
    skipped = {"name": "a", "skip_reason": "Dependency not found on PyPI"}
    known: dict[str, Any] = {"name": "b", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}
    fine: dict[str, Any] = {"name": "c", "version": "1", "vulns": []}
    for dependencies, found, unasked in (
        ([fine], 0, 0), ([skipped, fine], 0, 1), ([known, fine], 1, 0), ([known, skipped], 1, 1), ([], 0, 1)
    ):  # fmt: skip
        answer = of_pip_audit(json.dumps({"dependencies": dependencies}), "")
        assert (len(answer.found), len(answer.unasked)) == (found, unasked)
    assert of_pip_audit("", "no such host").unasked == ("all of them: no such host",)


def test_a_list_that_an_old_python_cannot_install_is_found() -> None:
    assert {file.relative_to(ROOT).parts[0] for file in lists()} == {"deploy", "tests"}
    complaints = {"a": "", "b": "ERROR: No matching distribution found for x==13", "c": "ERROR: no such host"}
    answer = of_pip(complaints)
    assert (answer.found, answer.unasked) == ((f"b: {complaints['b']}",), (f"c: {complaints['c']}",))


def test_what_govulncheck_says() -> None:
    config = json.dumps({"config": {"scanner_name": "govulncheck"}}, indent=2)
    called = json.dumps({"finding": {"osv": "GO-1", "trace": [{"module": "m", "function": "f"}]}}, indent=2)
    there = json.dumps({"finding": {"osv": "GO-2", "trace": [{"module": "m"}]}})
    said = {"a": (f"{config}\n{called}\n{there}\n{called}\n", ""), "b": (config, "")}
    answer = of_govulncheck(said, "file:///db")
    assert (answer.found, answer.unasked, answer.notes) == (("a: GO-1",), (), ("a, b; file:///db",))
    away = {"a": (config, "no such host"), "b": (config, "no such host"), "c": ("", ""), "d": (config, "")}
    answer = of_govulncheck(away, "x")
    assert (answer.found, answer.unasked) == ((), ("a, b: no such host", "c: it said nothing"))


@pytest.mark.parametrize("database", [None, "file:///srv/vulndb"])
def test_every_go_program_is_asked_about_at_the_database_that_is_wanted(
    database: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test's own `go` records its arguments."""
    (tmp_path / "go").write_text('#!/bin/sh\necho "$*" >>"$ASKED"\necho \'{"config": {}}\'\n')
    (tmp_path / "go").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    monkeypatch.setenv("GOVULNDB", database or "")
    answer = vulnerabilities.go(tmp_path)
    asked = (tmp_path / "asked").read_text().splitlines()
    assert answer.unasked == () and "gobgpd" in answer.notes[0]
    assert [line.rpartition(" ")[2] for line in asked] == [str(tmp_path / name) for name in PROGRAMS]
    assert all(f" -mode binary -format json -db {database or 'https://vuln.go.dev'} " in line for line in asked)


def test_what_npm_says() -> None:
    advisory = {"title": "a hole", "url": "https://a.test/1"}
    known = {"a": {"via": [advisory]}, "b": {"via": ["a"]}}
    assert of_npm_audit(json.dumps({"vulnerabilities": known}), "", 2).found == ("a: a hole (https://a.test/1)",)
    fine = of_npm_audit('{"vulnerabilities": {}}', "", 2)
    assert (fine.found, fine.unasked, fine.notes) == ((), (), ("2 packages",))
    for text, complaint in (('{"error": {}}', "no such endpoint"), ("", "no such host"), ("[]", "x"), ("", "")):
        answer = of_npm_audit(text, complaint, 2)
        assert not answer.found and answer.unasked[0].startswith("all of 2: ")


def test_npm_packages_for_development_are_not_shipped() -> None:
    """`node_modules/a/node_modules/b` is b, in the release that a needs."""
    entries = {
        "": {"name": "weft-ui"},
        "node_modules/@o/a": {"version": "1.0.0", "license": "MIT"},
        "node_modules/@o/a/node_modules/b": {"version": "2.0.0", "license": "ISC"},
        "node_modules/c": {"version": "3.0.0", "dev": True},
    }
    found = packages(json.dumps({"packages": entries}))
    assert [(one.name, one.version, one.licence) for one in found] == [("@o/a", "1.0.0", "MIT"), ("b", "2.0.0", "ISC")]
    assert found[0].component["purl"] == "pkg:npm/%40o/a@1.0.0"
    names = {one.name for one in packages((ROOT / "controller/ui/package-lock.json").read_text())}
    assert "svelte" in names and not {"vite", "eslint", "vitest"} & names


def test_go_programs_say_what_is_in_them() -> None:
    said = "/b/one: go1.26.8\n\tmod\tweft/routeserver\t(devel)\n\tdep\texample.org/m\tv1.2.3\th1:x\n"
    said += "/b/two: go1.9.12\n\tmod\texample.org/two\tv4.8.0\th1:x\n"
    said += "\tdep\tweft/routeserver\tv0.0.0-00010101000000-000000000000\n"
    assert of_go_version(said) == {"example.org/m": "v1.2.3", "example.org/two": "v4.8.0", "stdlib": "1.9.12"}


def test_what_the_images_install() -> None:
    found = {image.name: image for image in debian.images(ROOT / "deploy")}
    assert found.keys() == {"controller", "routeserver", "agent"}
    assert {image.base for image in found.values()} == {"debian:12-slim"}
    assert {"frr", "nftables", "strongswan-charon"} <= set(found["agent"].named)
    assert found["agent"].backports == debian.QEMU and not found["routeserver"].backports
    assert " ".join(debian.QEMU) in (ROOT / "lab/qemu").read_text()
    assert "python3" in found["controller"].named and "python3" not in found["routeserver"].named
    assert not any(name.startswith("weft") for image in found.values() for name in image.named)


def test_debian_packages_in_the_bill() -> None:
    said = "Inst libc6 (2.36-9+deb12u14 Debian:12.15/oldstable [amd64])\nConf libc6 (2.36-9+deb12u14 x [amd64])\n"
    said += "Inst frr [8.0] (1:8.4-1~a Debian:12.15/oldstable, Debian-Security:12 [amd64])\n"
    packages = debian.of_apt(said)
    assert packages == {Package("libc6", "2.36-9+deb12u14", "amd64"), Package("frr", "1:8.4-1~a", "amd64")}
    made = debian.components({"agent": packages, "rs": set()}, [debian.Image("agent", "debian:12-slim", ())])
    assert [each["purl"] for each in made] == [
        "pkg:deb/debian/frr@1:8.4-1~a?arch=amd64",
        "pkg:deb/debian/libc6@2.36-9%2Bdeb12u14?arch=amd64",
        "pkg:docker/debian@12-slim",
    ]
    assert made[0]["properties"] == [{"name": "weft:image", "value": "agent"}]


def test_an_image_of_which_nothing_is_known_was_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "_release", lambda: {"VERSION_ID": "99", "VERSION_CODENAME": "x"})
    found, answer = debian.packages(ROOT / "deploy")
    assert [each["type"] for each in found] == ["container"]
    assert len(answer.unasked) == 3 and "this machine is Debian 99" in answer.unasked[0]


def test_licences() -> None:
    answer = judged(
        {"a": "MIT", "b": "GPL-3.0-only", "c": "", "d": "BSD License", "f": "CC0-1.0", "pyroute2": "x", "e": "AGPL-3.0"}
    )
    assert [line.partition(":")[0] for line in answer.found] == ["b", "c", "e"]


SECRETS = {
    "a private key": "-----BEGIN EC PRIVATE KEY-----\n" + base64.b64encode(random.token_bytes(60)).decode() + "\n",
    "an AWS key": "key = AKIA" + "A1B2C3D4E5F6G7H8",
    "a GitHub token": "gh" + "p_" + "a1" * 20,
    "a password in a URL": "postgresql://weft:" + "hunter22x" + "@db/weft",
    "a secret given a name": "admin_token = '" + random.token_hex(32) + "'",
}


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_seen(kind: str) -> None:
    assert scan(f"a\nb\n{SECRETS[kind]}\n") == [(3, kind)]


def test_there_is_none_in_the_repo() -> None:
    assert repo(ROOT).found == ()


def test_what_is_shipped() -> None:
    there = distributions()
    assert {"fastapi", "uvicorn", "cryptography", "grpcio", "typer", "starlette", "sqlalchemy", "greenlet"} <= set(
        there
    )
    assert not {"pytest", "mypy", "ruff", "hypothesis", "matplotlib"} & set(there)


def test_the_bill_has_what_is_shipped_and_nothing_else() -> None:
    components = [{"name": name, "bom-ref": name, "version": "1"} for name in ("Jinja2", "pytest")]
    links = [{"ref": "weft", "dependsOn": ["Jinja2", "pytest"]}, {"ref": "pytest"}]
    document = {"metadata": {"component": {"bom-ref": "weft"}}, "components": components, "dependencies": links}
    bill = merged(document, {"jinja2": "1"}, {"example.org/m": "v1.2.3"}, [{"name": "frr", "bom-ref": "deb"}])
    assert [each["name"] for each in bill["components"]] == ["Jinja2", "example.org/m", "frr"]
    assert bill["components"][1]["purl"] == "pkg:golang/example.org/m@v1.2.3"
    assert bill["dependencies"] == [{"ref": "weft", "dependsOn": ["Jinja2"]}]
