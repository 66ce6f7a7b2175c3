"""Users of an OIDC issuer: the permissions that their tokens give, and every token that must be refused. The issuer
runs over HTTP."""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from controller.auth import oidc_issuer as keys
from controller.cli import grants, logins
from controller.cli.main import run
from tests.unit.controller.conftest import Controller, Start, problem
from tests.unit.controller.oidc_issuer import EC, FOREIGN, RSA, OidcIssuer, issuing, jwk

ROLES = {"ops": "operator", "readers": "viewer", "admins": "admin", "acme": "tenant"}
pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
async def issuer() -> AsyncIterator[OidcIssuer]:
    async with issuing() as running:
        yield running


def options(issuer: OidcIssuer, **more: Any) -> dict[str, Any]:
    return {"oidc": {"issuer": issuer.url, "audience": ["weft"], "roles": ROLES, **more}}


async def ask(
    controller: Controller, token: str, method: str = "GET", path: str = "/vcps", body: Any = None
) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}"}
    return await controller.http.request(method, f"/api/v1{path}", headers=headers, json=body)


async def test_a_token_lets_in_and_names(start: Start, issuer: OidcIssuer) -> None:
    async with start(**options(issuer)) as controller:
        for token in (issuer.token(), issuer.token(EC, "two", "ES256"), issuer.token(RSA, "one", "PS256")):
            assert (await ask(controller, token)).status_code == 200
        assert issuer.asked == 1, "keys that are known are not asked for again"
        assert (await ask(controller, issuer.token(), "POST", "/vcps", {"name": "blue"})).status_code == 201
        reader = issuer.token(groups=["readers", "nonsense", 7])
        problem(
            await ask(controller, reader, "POST", "/vcps", {"name": "red"}), 403, reason="oidc:u-1: the role viewer"
        )
        assert [e["who"] for e in (await controller.get("/audit"))["items"]] == ["oidc:u-1", "oidc:u-1"]
        problem(await ask(controller, issuer.token(groups=["cooks"])), 403, reason="oidc:u-1: nothing that")
        problem(await ask(controller, issuer.token(groups=["acme"])), 403, reason="claim tenant")
        await controller.post("/cloudlets", {"name": "c1", "pe": "vpls", "vtep": "192.0.2.1"})
        for n, tenant in enumerate(("acme", "beta")):
            lan = {"name": f"{tenant}-lan", "cloudlet": "c1", "prefix": f"10.{n}.0.0/24", "tenant": tenant}
            await controller.post("/endpoints", lan)
        own = await ask(controller, issuer.token(groups=["acme"], tenant="acme"), path="/endpoints")
        assert [one["name"] for one in own.json()["items"]] == ["acme-lan"]


def forged(token: str, header: dict[str, Any], secret: bytes = b"") -> str:
    """Return the token's claims under another header, signed with HMAC or unsigned."""
    head = base64.urlsafe_b64encode(json.dumps(header).encode()).rstrip(b"=")
    signed = head + b"." + token.split(".")[1].encode()
    mac = hmac.new(secret, signed, hashlib.sha256).digest() if secret else b""
    return (signed + b"." + base64.urlsafe_b64encode(mac).rstrip(b"=")).decode()


def attacks(issuer: OidcIssuer) -> dict[str, tuple[str, str]]:
    """Return the tokens that must be refused, with the reasons."""
    now, good = int(time.time()), issuer.token()
    pem = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    body, signature = good.rpartition(".")[::2]
    other = issuer.token(sub="u-2").split(".")
    return {
        "none": (forged(good, {"alg": "none", "kid": "one"}), "algorithm"),
        "None": (forged(good, {"alg": "nOnE", "kid": "one"}), "algorithm"),
        "HMAC with the public key": (forged(good, {"alg": "HS256", "kid": "one"}, pem), "algorithm"),
        "no signature": (body + ".", "signature"),
        "another's signature": (".".join([*other[:2], signature]), "signature"),
        "wrong issuer": (issuer.token(iss="https://elsewhere.example"), "another issuer"),
        "issuer with a slash": (issuer.token(iss=issuer.url + "/"), "another issuer"),
        "wrong audience": (issuer.token(aud="shop"), "another audience"),
        "no audience": (issuer.token(aud=None), "does not say its aud"),
        "no subject": (issuer.token(sub=None), "does not say its sub"),
        "no end": (issuer.token(exp=None), "does not say its exp"),
        "no beginning": (issuer.token(iat=None), "does not say its iat"),
        "expired": (issuer.token(exp=now - 31, iat=now - 60), "expired"),
        "not yet": (issuer.token(nbf=now + 60), "not good yet"),
        "from the future": (issuer.token(iat=now + 60), "not good yet"),
        "issued long ago": (issuer.token(iat=now - 7200), "issued too long ago"),
        "unknown kid": (issuer.token(RSA, "three"), "none of the issuer's"),
        "no kid": (issuer.token(RSA, None), "none of the issuer's"),
        "foreign key": (issuer.token(FOREIGN, "one"), "signature"),
        "another's kid": (issuer.token(RSA, "two"), "not for its algorithm"),
        "kid with a path": (issuer.token(RSA, "../../dev/null"), "none of the issuer's"),
        "kid with SQL": (issuer.token(RSA, "x' UNION SELECT 'one"), "none of the issuer's"),
        "a key in the header": (issuer.token(FOREIGN, None, "RS256", headers={"jwk": jwk(FOREIGN, None)}), "none of"),
        "a key elsewhere": (issuer.token(FOREIGN, "x", "RS256", headers={"jku": f"{issuer.url}/x"}), "none of"),
        "critical": (forged(good, {"alg": "RS256", "kid": "one", "crit": ["x"], "x": 1}), "not a signed"),
        "a logout token": (issuer.token(headers={"typ": "logout+jwt"}), "another kind"),
        "too long": (issuer.token(padding="x" * 9000), "too long"),
        "no JSON": ("e30.e30.e30", "algorithm"),
        "no base64": ("a.b.c", "not a signed JSON Web Token"),
    }


async def test_what_lets_nobody_in(start: Start, issuer: OidcIssuer, monkeypatch: pytest.MonkeyPatch) -> None:
    async with start(**options(issuer)) as controller:
        assert (await ask(controller, issuer.token())).status_code == 200
        for name, (token, why) in attacks(issuer).items():
            answer = await ask(controller, token)
            assert answer.status_code == 401, (name, answer.text)
            assert why in answer.json()["detail"], (name, answer.text)
            assert answer.headers["www-authenticate"].startswith("Bearer") and token not in answer.text
        assert issuer.asked == 1, "nothing that a token says makes the controller ask more often than it does"
        now = int(time.time())
        assert (await ask(controller, issuer.token(exp=now - 20, iat=now - 50))).status_code == 200, "clocks differ"
        assert (await controller.get("/audit"))["items"] == []


async def test_keys_change(start: Start, issuer: OidcIssuer, monkeypatch: pytest.MonkeyPatch) -> None:
    async with start(**options(issuer)) as controller:
        assert (await ask(controller, issuer.token())).status_code == 200
        issuer.keys = [jwk(FOREIGN, "three")]
        assert (await ask(controller, issuer.token(FOREIGN, "three"))).status_code == 401, "not that soon"
        monkeypatch.setattr(keys, "PACE", 0.0)
        assert (await ask(controller, issuer.token(FOREIGN, "three"))).status_code == 200
        problem(await ask(controller, issuer.token()), 401, reason="none of the issuer's")
        issuer.keys = [jwk(RSA, "one"), jwk(FOREIGN, "one")]
        problem(await ask(controller, issuer.token()), 401, reason="none of the issuer's")
        issuer.keys = [jwk(RSA, "one", use="enc"), jwk(EC, "two", alg="ES384"), {"kty": "oct", "k": "AAAA", "kid": "x"}]
        problem(await ask(controller, issuer.token()), 401, reason="none of the issuer's")
        problem(await ask(controller, issuer.token(EC, "two", "ES256")), 401, reason="not for its algorithm")


async def test_an_issuer_that_is_away(start: Start, issuer: OidcIssuer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "PACE", 0.0)
    issuer.down = True
    async with start(**options(issuer, keep=2.0)) as controller:
        answer = await ask(controller, issuer.token())
        problem(answer, 503, reason=f"issuer {issuer.url} does not answer")
        assert answer.headers["retry-after"]
        assert (await controller.http.get("/api/v1/vcps")).status_code == 200, "tokens of our own go on"
        issuer.down, issuer.says = False, "https://elsewhere.example"
        problem(await ask(controller, issuer.token()), 503)
        issuer.says = ""
        assert (await ask(controller, issuer.token())).status_code == 200
        issuer.down = True
        monkeypatch.setattr(keys, "FRESH", 0.0)
        assert (await ask(controller, issuer.token())).status_code == 200, "known keys go on"
        problem(await ask(controller, issuer.token(FOREIGN, "three")), 401)
        await asyncio.sleep(2.1)
        problem(await ask(controller, issuer.token()), 503)


async def test_a_role_that_was_taken_away(start: Start, issuer: OidcIssuer) -> None:
    """The token still has the role; the role here no longer counts, or the token was issued too long ago."""
    token = issuer.token()
    async with start(**options(issuer)) as controller:
        assert (await ask(controller, token)).status_code == 200
    async with start(**options(issuer, roles={"readers": "viewer"})) as controller:
        problem(await ask(controller, token), 403)
    old = issuer.token(iat=int(time.time()) - 100)
    async with start(**options(issuer, lifetime=60.0)) as controller:
        problem(await ask(controller, old), 401, reason="issued too long ago")
        assert (await ask(controller, token)).status_code == 200


async def test_without_an_issuer_nothing_of_the_kind_is_good(start: Start, issuer: OidcIssuer) -> None:
    async with start() as controller:
        problem(await ask(controller, issuer.token()), 401, reason="missing, wrong, expired or revoked")
    assert issuer.asked == 0


async def weft(*arguments: str) -> int:
    return await asyncio.to_thread(run, arguments)


async def test_weft_login(
    start: Start, issuer: OidcIssuer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(grants, "SLOWER", 0.01)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("WEFT_TOKEN", "WEFT_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    async with start(**options(issuer)) as controller:
        monkeypatch.setenv("WEFT_URL", str(controller.http.base_url))
        assert await weft("vcp", "list") == 3
        assert await weft("login", "--issuer", issuer.url, "--client", "weft-cli") == 0
        said = capfd.readouterr()
        assert "WEFT-1234" in said.err and f"{issuer.url}/activate" in said.err
        assert {form["client_id"] for form in issuer.forms} == {"weft-cli"} and len(issuer.forms) == 4
        kept = tmp_path / "state" / "weft" / "logins.json"
        assert kept.stat().st_mode & 0o777 == 0o600
        assert await weft("vcp", "list") == 0 and len(issuer.forms) == 4
        assert await weft("vcp", "add", "blue") == 0
        assert (await controller.get("/audit", method="POST"))["items"][0]["who"] == "oidc:u-1"

        monkeypatch.setattr(logins, "EARLY", 1000.0)
        before = set(issuer.refreshing)
        assert await weft("vcp", "list") == 0
        assert len(issuer.refreshing) == 1 and issuer.refreshing != before, "a refresh token is used once"
        issuer.refreshing.clear()
        assert await weft("vcp", "list") == 1
        assert "your login" in capfd.readouterr().err

        issuer.refreshing = {json.loads(kept.read_text())[str(os.environ["WEFT_URL"])]["refresh"]}
        monkeypatch.setenv("WEFT_URL", "http://127.0.0.1:9")
        assert logins.token("http://127.0.0.1:9") == "", "no other controller gets it"
        monkeypatch.setenv("WEFT_URL", str(controller.http.base_url))
        assert await weft("logout") == 0
        assert issuer.refreshing == set() and json.loads(kept.read_text()) == {}
        assert await weft("vcp", "list") == 3
        issuer.words = ["access_denied"]
        assert await weft("login", "--issuer", issuer.url) == 1
        assert "told not to let you in" in capfd.readouterr().err
