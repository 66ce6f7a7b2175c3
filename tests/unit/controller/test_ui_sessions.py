"""Sessions of the web UI: what begins one, what ends it, and the attacks on it."""

from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from controller.api.sessions import COOKIE
from controller.auth import sessions
from controller.auth.sessions import Grant, ShownSession
from controller.core.clock import now
from controller.db import ui_sessions
from controller.db.ui_sessions import MOST, UiSessionRow
from tests.unit.controller.conftest import problem
from tests.unit.controller.ui_site import SAME, StartUi, UiSite, sign_in
from tests.unit.controller.ui_site import start_ui as start_ui
from tests.unit.controller.ui_site import ui as ui

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
VCPS, WHOAMI = "/api/v1/vcps", "/api/v1/whoami"


async def rows(ui: UiSite) -> list[UiSessionRow]:
    async with ui.controller.region.database.read() as session:
        return list(await session.scalars(select(UiSessionRow)))


async def test_a_token_is_traded_for_a_session(ui: UiSite) -> None:
    token = await ui.token("ana", "operator")
    async with ui.browser() as browser:
        problem(await browser.get(VCPS), 401)
        answer = await sign_in(browser, token)
        assert token not in answer.text
        cookie = answer.headers["set-cookie"]
        secret = answer.cookies[COOKIE]
        until = datetime.fromisoformat(answer.json()["until"])
        assert until <= now() + timedelta(seconds=43_200), "the token lasts longer"
        words = {word.strip().lower() for word in cookie.split(";")[1:]}
        assert words == {"httponly", "path=/", "samesite=strict", "secure"}, "and no domain, no age"
        assert cookie.startswith("__Host-"), "browsers take it from this very host alone"
        me = (await browser.get(WHOAMI)).json()
        assert (me["name"], me["role"], me["how"], me["session"]) == ("token ana", "operator", "token", True)
        assert me["until"] and me["idle_seconds"] == 3600
        assert (await browser.get(VCPS)).json()["items"] == []
        device = {"name": "m1", "mac": "02:00:5e:00:00:01"}
        assert (await browser.post("/api/v1/devices", json=device)).status_code == 201
    (row,) = await rows(ui)
    assert secret not in repr(vars(row)) and token not in repr(vars(row)), "only digests are stored"
    entries = (await ui.controller.get("/audit"))["items"]
    assert [(e["who"], e["method"], e["path"], e["status"]) for e in entries[:2]] == [
        ("token ana", "POST", "/api/v1/devices", 201),
        ("token ana", "POST", "/ui/session", 200),
    ]
    assert entries[1]["asked"] == {"token": "(secret)"}


@pytest.mark.parametrize("token", ["guessed", "a.b.c", "x" * 8192])
async def test_a_token_that_is_not_good_begins_none(ui: UiSite, token: str) -> None:
    async with ui.browser() as browser:
        answer = await browser.post("/ui/session", json={"token": token})
        problem(answer, 401, reason="missing, wrong, expired or revoked")
        assert "set-cookie" not in answer.headers and token not in answer.text
        for body in ({}, {"token": ""}, {"token": "x" * 8193}, {"token": 7}, {"token": "x", "to": "/"}):
            problem(await browser.post("/ui/session", json=body), 422)
        problem(await browser.post("/ui/session", content=b"x" * 40_000), 413)
    assert await rows(ui) == []


async def test_the_admin_token_and_a_tenant_s_may_sign_in(ui: UiSite) -> None:
    token = await ui.token("portal", "tenant", tenant="acme")
    async with ui.browser() as browser:
        me = (await sign_in(browser, "an-admin-token-for-tests")).json()
        assert (me["name"], me["how"], me["role"]) == ("admin token", "admin-token", "admin")
        me = (await sign_in(browser, token)).json()
        assert (me["name"], me["role"], me["tenant"]) == ("token portal", "tenant", "acme")
        problem(await browser.get(VCPS), 403)
        assert (await browser.get(WHOAMI)).status_code == 200
        problem(await browser.get("/api/v1/summary"), 403)


async def test_a_session_ends_with_its_token(ui: UiSite) -> None:
    token = await ui.token("ana")
    async with ui.browser() as browser:
        await sign_in(browser, token)
        assert (await browser.get(VCPS)).status_code == 200
        await ui.controller.delete("/tokens/ana", 204)
        problem(await browser.get(VCPS), 401, reason="sign in again")


async def test_signing_out_ends_the_session_and_not_only_the_cookie(ui: UiSite) -> None:
    token = await ui.token("ana")
    async with ui.browser() as browser:
        secret = (await sign_in(browser, token)).cookies[COOKIE]
        answer = await browser.delete("/ui/session")
        assert answer.status_code == 204 and "Max-Age=0" in answer.headers["set-cookie"]
        assert await rows(ui) == []
        problem(await browser.get(VCPS), 401)
        problem(await browser.get(VCPS, headers={"Cookie": f"{COOKIE}={secret}"}), 401)
    audited = [(e["who"], e["method"], e["path"]) for e in (await ui.controller.get("/audit"))["items"]]
    assert audited[0] == ("token ana", "DELETE", "/ui/session")


async def test_idle_and_old_sessions_end(ui: UiSite, monkeypatch: pytest.MonkeyPatch) -> None:
    token = await ui.token("ana")
    async with ui.browser() as browser:
        await sign_in(browser, token)
        began = now()

        def at(seconds: float) -> None:
            monkeypatch.setattr(sessions, "now", lambda: began + timedelta(seconds=seconds))

        at(3500)
        assert (await browser.get(VCPS, headers={"Weft-Unattended": "1"})).status_code == 200
        at(3601)
        problem(await browser.get(VCPS), 401)  # a page that refreshes itself does not keep a session
        at(3500)
        assert (await browser.get(VCPS)).status_code == 200
        for turn in range(2, 13):
            at(3500 * turn)
            assert (await browser.get(VCPS)).status_code == (200 if 3500 * turn < 43_200 else 401), turn


async def test_a_session_is_not_fixed(ui: UiSite) -> None:
    """An attacker who has put a secret of his into a victim's browser gets nothing from the victim's sign-in."""
    planted, token = "p" * 43, await ui.token("ana")
    async with ui.browser() as browser:
        answer = await browser.post("/ui/session", json={"token": token}, headers={"Cookie": f"{COOKIE}={planted}"})
        secret = answer.cookies[COOKIE]
        assert answer.status_code == 200 and secret != planted
        problem(await browser.get(VCPS, headers={"Cookie": f"{COOKIE}={planted}"}), 401)
        again = (await sign_in(browser, token)).cookies[COOKIE]
        assert again != secret
        problem(await browser.get(VCPS, headers={"Cookie": f"{COOKIE}={secret}"}), 401)  # it ended with the sign-in
    assert len(await rows(ui)) == 1


FOREIGN: tuple[dict[str, str], ...] = (
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "", "Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "https://127.0.0.1"},
)


@pytest.mark.parametrize("headers", FOREIGN)
async def test_no_page_of_another_site_changes_anything(ui: UiSite, headers: dict[str, str]) -> None:
    token = await ui.token("ana", "admin")
    async with ui.browser() as browser:
        await sign_in(browser, token)
        body = {"name": "blue"}
        problem(await browser.post(VCPS, json=body, headers=headers), 403, reason="another site")
        problem(await browser.post("/ui/session", json={"token": token}, headers=headers), 403)
        problem(await browser.delete("/ui/session", headers=headers), 403)
        assert (await browser.get(VCPS)).json()["items"] == []
        assert (await browser.post(VCPS, json=body)).status_code == 201


async def test_a_cookie_is_good_at_the_ui_s_listener_alone(ui: UiSite) -> None:
    token = await ui.token("ana", "admin")
    async with ui.browser() as browser:
        secret = (await sign_in(browser, token)).cookies[COOKIE]
    headers = {"Cookie": f"{COOKIE}={secret}"}
    plain = ui.controller.http.base_url
    async with httpx.AsyncClient(base_url=plain, headers=SAME | headers, trust_env=False) as other:
        problem(await other.get(VCPS), 401)
        problem(await other.get("/ui/session"), 404)
        problem(await other.post("/ui/session", json={"token": token}), 404)
        problem(await other.get("/ui/oidc"), 404)
        problem(await other.get("/"), 404)


async def test_agents_are_not_served_there(ui: UiSite) -> None:
    credential = await ui.controller.cloudlet("c1", 1)
    async with ui.browser(Authorization=f"Bearer {credential}") as browser:
        for path in ("/api/v1/agent/desired", "/api/v1/enrolments", "/api/v1/enrolments/authorities"):
            problem(await browser.get(path), 404)
        problem(await browser.post("/api/v1/enrolments", json={"token": "x"}), 404)
        problem(await browser.get(VCPS), 401)


async def test_a_program_shows_its_token_there_too(ui: UiSite) -> None:
    token = await ui.token("ana", "admin")
    async with ui.browser(Authorization=f"Bearer {token}") as browser:
        answer = await browser.post(VCPS, json={"name": "blue"}, headers={"Sec-Fetch-Site": "cross-site"})
        assert answer.status_code == 201, "no page can set this header for another site"
        me = (await browser.get(WHOAMI)).json()
        assert me["session"] is False and me["idle_seconds"] is None
        browser.headers["Authorization"] = "Bearer wrong"
        problem(await browser.get(VCPS), 401)


async def test_idempotency_keys_are_a_session_s_own(ui: UiSite) -> None:
    tokens = [await ui.token(name, "admin") for name in ("ana", "bob")]
    key = {"Idempotency-Key": "once"}
    async with ui.browser() as ana, ui.browser() as bob:
        await sign_in(ana, tokens[0])
        await sign_in(bob, tokens[1])
        first = await ana.post(VCPS, json={"name": "blue"}, headers=key)
        again = await ana.post(VCPS, json={"name": "blue"}, headers=key)
        assert first.status_code == again.status_code == 201 and "Idempotency-Replayed" in again.headers
        problem(await bob.post(VCPS, json={"name": "blue"}, headers=key), 409)


async def test_a_user_has_so_many_sessions_and_old_ones_are_deleted(ui: UiSite) -> None:
    region, token = ui.controller.region, await ui.token("ana")
    secrets = []
    async with ui.browser() as browser:
        for _ in range(MOST + 2):
            browser.cookies.clear()
            secrets.append((await sign_in(browser, token)).cookies[COOKIE])
        assert len(await rows(ui)) == MOST
        browser.cookies.clear()
        problem(await browser.get(VCPS, headers={"Cookie": f"{COOKIE}={secrets[0]}"}), 401)
    over = Grant("ghost", now() - timedelta(seconds=1), credential="x")
    await region.auth.sessions.begin(over)
    async with region.database.write() as session:
        await ui_sessions.prune(session)
    assert {row.who for row in await rows(ui)} == {"token ana"}


async def test_a_stream_ends_with_its_session(ui: UiSite) -> None:
    token = await ui.token("ana")
    async with ui.browser() as browser:
        secret = (await sign_in(browser, token)).cookies[COOKIE]
        assert await ui.controller.region.auth.sessions.caller(ShownSession(secret, attended=True))
        async with browser.stream("GET", "/api/v1/events", headers={"Accept": "text/event-stream"}) as stream:
            lines = stream.aiter_lines()
            assert await anext(lines) == ": weft"
            await ui.controller.post("/devices", {"name": "m1", "mac": "02:00:5e:00:00:01"})
            while "m1" not in await anext(lines):
                pass
    await ui.controller.region.auth.sessions.end(secret)
    assert await ui.controller.region.auth.sessions.caller(ShownSession(secret, attended=True)) is None


async def test_another_admin_token_ends_sessions_of_the_one_before(start_ui: StartUi, tmp_path: Any) -> None:
    async with start_ui() as site, site.browser() as browser:
        secret = (await sign_in(browser, "an-admin-token-for-tests")).cookies[COOKIE]
    (tmp_path / "other").write_text("another-admin-token")
    async with start_ui(admin_token_file=tmp_path / "other") as site, site.browser() as browser:
        problem(await browser.get(VCPS, headers={"Cookie": f"{COOKIE}={secret}"}), 401)


async def test_a_region_without_an_admin_token_asks_for_a_sign_in(start_ui: StartUi) -> None:
    """Its API tokens open the UI; elsewhere a caller without one is told of the unix socket."""
    async with start_ui() as site:
        made = await site.controller.post("/tokens", {"name": "ana", "role": "viewer"})
    async with start_ui(admin_token_file=None) as site, site.browser() as browser:
        problem(await browser.get(WHOAMI), 401, reason="Sign in")
        await sign_in(browser, made["token"])
        assert (await browser.get(WHOAMI)).json()["name"] == "token ana"
        problem(await site.controller.http.get("/api/v1/vcps"), 403, reason="unix socket only")
