"""Signing in to the web UI at an OIDC issuer, which runs over HTTP, and the attacks on that."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from controller.api.sessions import COOKIE, SIGN_IN_COOKIE
from tests.unit.controller.conftest import problem
from tests.unit.controller.oidc_issuer import OidcIssuer, issuing
from tests.unit.controller.ui_site import StartUi, sign_in
from tests.unit.controller.ui_site import start_ui as start_ui

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
ROLES = {"ops": "operator", "acme": "tenant"}
BACK = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
WHOAMI = "/api/v1/whoami"


@pytest.fixture
async def issuer() -> AsyncIterator[OidcIssuer]:
    async with issuing() as running:
        yield running


def options(issuer: OidcIssuer, **more: Any) -> dict[str, Any]:
    oidc = {
        "issuer": issuer.url,
        "audience": ["weft"],
        "roles": ROLES,
        "client_id": "weft-ui",
        "scope": "openid groups",
    }
    return {"oidc": oidc | more, "ui_url": "https://weft.example:8444"}


async def to_issuer(browser: httpx.AsyncClient) -> str:
    """Begin to sign in; return the path with which the issuer sends the browser back."""
    begun = await browser.get("/ui/oidc")
    assert begun.status_code == 303, begun.text
    async with httpx.AsyncClient(trust_env=False) as outside:
        sent = await outside.get(begun.headers["location"])
    where = urlsplit(sent.headers["location"])
    assert (where.scheme, where.netloc) == ("https", "weft.example:8444")
    return f"{where.path}?{where.query}"


async def test_a_user_signs_in_at_the_issuer(start_ui: StartUi, issuer: OidcIssuer) -> None:
    async with start_ui(**options(issuer)) as site, site.browser() as browser:
        assert (await browser.get("/ui/session")).json() == {"oidc": True}
        begun = await browser.get("/ui/oidc")
        asked = parse_qs(urlsplit(begun.headers["location"]).query)
        assert begun.headers["location"].startswith(f"{issuer.url}/authorize?")
        assert asked["code_challenge_method"] == ["S256"] and asked["scope"] == ["openid groups"]
        assert asked["redirect_uri"] == ["https://weft.example:8444/ui/oidc/callback"]
        kept = begun.headers["set-cookie"].lower()
        assert "httponly" in kept and "secure" in kept and "samesite=lax" in kept and "max-age=600" in kept
        back = await browser.get(await to_issuer(browser), headers=BACK)
        assert (back.status_code, back.headers["location"]) == (303, "/")
        assert any(SIGN_IN_COOKIE in one and "Max-Age=0" in one for one in back.headers.get_list("set-cookie"))
        me = (await browser.get(WHOAMI)).json()
        assert (me["name"], me["role"], me["how"], me["session"]) == ("oidc:u-1", "operator", "oidc", True)
        entry = (await site.controller.get("/audit"))["items"][0]
        assert (entry["who"], entry["path"], entry["status"]) == ("oidc:u-1", "/ui/oidc/callback", 303)
        assert issuer.forms[-1]["code_verifier"] and "client_secret" not in issuer.forms[-1]


async def test_a_role_that_is_no_longer_configured_ends_the_session(start_ui: StartUi, issuer: OidcIssuer) -> None:
    async with start_ui(**options(issuer)) as site, site.browser() as browser:
        await browser.get(await to_issuer(browser), headers=BACK)
        secret = browser.cookies[COOKIE]
    cookie = {"Cookie": f"{COOKIE}={secret}"}
    async with start_ui(**options(issuer, roles={"ops": "viewer"})) as site, site.browser() as browser:
        assert (await browser.get(WHOAMI, headers=cookie)).json()["role"] == "viewer"
    async with start_ui(**options(issuer, roles={"others": "admin"})) as site, site.browser() as browser:
        problem(await browser.get(WHOAMI, headers=cookie), 401)


async def failed(browser: httpx.AsyncClient, path: str) -> str:
    """Return the word for the page by which the controller says that nobody was signed in."""
    answer = await browser.get(path, headers=BACK)
    assert answer.status_code == 303 and COOKIE not in browser.cookies
    where = urlsplit(answer.headers["location"])
    assert (where.scheme, where.netloc, where.path) == ("", "", "/")
    return parse_qs(where.query)["sign-in"][0]


async def test_nobody_else_s_answer_signs_in(start_ui: StartUi, issuer: OidcIssuer) -> None:
    async with start_ui(**options(issuer)) as site, site.browser() as victim, site.browser() as attacker:
        planted = await to_issuer(attacker)
        assert await failed(victim, planted) == "other-browser", "the attacker's code in the victim's browser"
        mine = await to_issuer(victim)
        assert await failed(victim, mine.replace("state=", "state=x")) == "other-browser"
        state = parse_qs(urlsplit(mine).query)["state"][0]
        stolen = parse_qs(urlsplit(planted).query)["code"][0]
        await to_issuer(victim)
        assert await failed(victim, f"/ui/oidc/callback?code={stolen}&state={state}") == "other-browser"
        again = await to_issuer(victim)
        own = parse_qs(urlsplit(again).query)["state"][0]
        assert await failed(victim, f"/ui/oidc/callback?code={stolen}&state={own}") == "refused", "PKCE"
        assert await failed(victim, "/ui/oidc/callback") == "other-browser"
        error = "/ui/oidc/callback?error=access_denied&error_description=call+555"
        assert await failed(victim, error) == "other-browser"


async def test_what_the_issuer_may_say_wrong(start_ui: StartUi, issuer: OidcIssuer) -> None:
    async with start_ui(**options(issuer)) as site, site.browser() as browser:
        issuer.nonce = "of another sign-in"
        assert await failed(browser, await to_issuer(browser)) == "refused"
        issuer.nonce = None
        issuer.claims = {"sub": "u-1", "groups": ["cooks"]}
        assert await failed(browser, await to_issuer(browser)) == "no-role"
        issuer.claims = {"sub": "u-1", "groups": ["ops"]}
        issuer.audience = "weft"  # a token for the API, not for this client
        assert await failed(browser, await to_issuer(browser)) == "refused"
        issuer.audience = None
        issuer.seconds = -60
        assert await failed(browser, await to_issuer(browser)) == "refused"


async def test_an_issuer_that_is_away(start_ui: StartUi, issuer: OidcIssuer) -> None:
    issuer.down = True
    async with start_ui(**options(issuer)) as site, site.browser() as browser:
        answer = await browser.get("/ui/oidc")
        assert (answer.status_code, answer.headers["location"]) == (303, "/?sign-in=away")


async def test_no_redirect_takes_a_foreign_url(start_ui: StartUi, issuer: OidcIssuer) -> None:
    async with start_ui(**options(issuer)) as site, site.browser() as browser:
        path = await to_issuer(browser)
        for name in ("next", "return_to", "redirect_uri", "url"):
            path += f"&{name}=https://evil.example/"
        answer = await browser.get(path, headers=BACK | {"Host": "evil.example"})
        assert answer.headers["location"] == "/"
        begun = await browser.get("/ui/oidc?redirect_uri=https://evil.example/", headers={"Host": "evil.example"})
        assert "evil" not in begun.headers["location"]


async def test_without_a_client_there_is_no_such_way(start_ui: StartUi, issuer: OidcIssuer) -> None:
    async with start_ui(**options(issuer, client_id=None)) as site, site.browser() as browser:
        assert (await browser.get("/ui/session")).json() == {"oidc": False}
        problem(await browser.get("/ui/oidc"), 404)
        problem(await browser.get("/ui/oidc/callback"), 404)
        me = (await sign_in(browser, issuer.token())).json()
        assert (me["name"], me["how"]) == ("oidc:u-1", "oidc"), "but a token of the issuer may be pasted"
        problem(await browser.post("/ui/session", json={"token": issuer.token(aud="shop")}), 401)
        problem(await browser.post("/ui/session", json={"token": issuer.token(groups=["cooks"])}), 403)


async def test_the_client_s_secret_is_sent(start_ui: StartUi, issuer: OidcIssuer, tmp_path: Any) -> None:
    (tmp_path / "secret").write_text("s3cret\n")
    async with start_ui(**options(issuer, client_secret_file=tmp_path / "secret")) as site, site.browser() as browser:
        back = await browser.get(await to_issuer(browser), headers=BACK)
        assert back.headers["location"] == "/"
