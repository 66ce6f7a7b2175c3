"""What the audit makes of its tools' answers: nothing that was not asked counts as being in order."""

import base64
import json
import secrets as random
from pathlib import Path
from typing import Any

import pytest

from tests.audit import Answer, exit_code
from tests.audit.bill import merged
from tests.audit.licences import judged
from tests.audit.secrets import repo, scan
from tests.audit.shipped import distributions
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


def test_what_govulncheck_says() -> None:
    config = json.dumps({"config": {"scanner_name": "govulncheck"}}, indent=2)
    called = json.dumps({"finding": {"osv": "GO-1", "trace": [{"module": "m", "function": "f"}]}}, indent=2)
    there = json.dumps({"finding": {"osv": "GO-2", "trace": [{"module": "m"}]}})
    assert of_govulncheck(f"{config}\n{called}\n{there}\n{called}\n", "").found == ("GO-1",)
    assert of_govulncheck(config, "") == Answer("vulnerabilities of Go modules (govulncheck)")
    assert of_govulncheck(config, "no such host").unasked and of_govulncheck("", "").unasked


def test_licences() -> None:
    answer = judged({"a": "MIT", "b": "GPL-3.0-only", "c": "", "d": "BSD License", "pyroute2": "x", "e": "AGPL-3.0"})
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
    bill = merged(document, {"jinja2": "1"}, {"example.org/m": "v1.2.3"})
    assert [each["name"] for each in bill["components"]] == ["Jinja2", "example.org/m"]
    assert bill["components"][1]["purl"] == "pkg:golang/example.org/m@v1.2.3"
    assert bill["dependencies"] == [{"ref": "weft", "dependsOn": ["Jinja2"]}]
