"""The UI's listener: its files, their headers, its certificate, and the summary."""

import asyncio
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from controller.server import pages
from controller.server.certificate_files import CertificateFiles
from controller.server.pages import Pages
from controller.settings import BadSettings, Settings
from tests.unit.controller.conftest import problem
from tests.unit.controller.ui_site import FILES, UiSite, sign_in
from tests.unit.controller.ui_site import start_ui as start_ui
from tests.unit.controller.ui_site import ui as ui
from tests.unit.trust.requests import self_signed

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def guarded(answer: httpx.Response) -> None:
    """Check the headers that keep a page from being framed, and from running what is not its own."""
    policy = answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy and "base-uri 'none'" in policy and "object-src 'none'" in policy
    assert "unsafe" not in policy and "http:" not in policy and "https:" not in policy and "data:" not in policy
    assert answer.headers["x-frame-options"] == "DENY" and answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


@ON_SQLITE
async def test_files_and_their_headers(ui: UiSite) -> None:
    async with ui.browser() as browser:
        for path in ("/", "/cloudlets", "/pools/blue", "/index.html", "/anything/else", "/pools/a.b"):
            answer = await browser.get(path)
            assert answer.text == FILES["index.html"] and answer.headers["content-type"].startswith("text/html")
            assert answer.headers["cache-control"] == "no-cache"
            guarded(answer)
        script = await browser.get("/assets/main-12345678.js")
        assert script.headers["content-type"].startswith("text/javascript")
        assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
        guarded(script)
        tag = script.headers["etag"]
        for given, status in ((tag, 304), (f'"x", {tag}', 304), ('"x"', 200)):
            answer = await browser.get("/assets/main-12345678.js", headers={"If-None-Match": given})
            assert answer.status_code == status
        head = await browser.head("/")
        assert head.content == b"" and head.headers["content-length"]


@ON_SQLITE
async def test_large_files_are_compressed(ui: UiSite) -> None:
    async with ui.browser() as browser:
        answer = await browser.get("/", headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in answer.headers
        packed = await browser.get("/", headers={"Accept-Encoding": "gzip"})
        assert packed.headers["content-encoding"] == "gzip" and packed.content == answer.content
        assert int(packed.headers["content-length"]) < int(answer.headers["content-length"])
        assert packed.headers["vary"] == "Accept-Encoding"


@ON_SQLITE
@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/assets/none.js", 404),
        ("/.vite/manifest.json", 404),
        ("/notes.txt", 404),
        ("/..%2f..%2fetc/passwd", 400),
        ("/assets/%2e%2e/%2e%2e/etc/passwd", 400),
        ("/metrics", 200),
        ("/docs", 200),
        ("//evil.example/", 200),
    ],
)
async def test_only_the_ui_s_own_files_are_there(ui: UiSite, path: str, status: int) -> None:
    """Other paths of the plain listener are pages of the UI here: they get the index."""
    async with ui.browser() as browser:
        answer = await browser.request("GET", httpx.URL(ui.url).copy_with(raw_path=path.encode()))
        assert answer.status_code == status, answer.text
        assert answer.text == FILES["index.html"] if status == 200 else "Weft" not in answer.text
        problem(await browser.post("/", json={}), 405)


@ON_SQLITE
async def test_answers_of_the_api_are_kept_by_no_cache(ui: UiSite) -> None:
    token = await ui.token("ana")
    async with ui.browser() as browser:
        await sign_in(browser, token)
        answer = await browser.get("/api/v1/vcps")
        assert answer.headers["cache-control"] == "no-store"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert (await browser.get("/healthz")).json() == {"status": "ok"}


@ON_SQLITE
async def test_the_summary(ui: UiSite) -> None:
    await ui.controller.agent("c1", 1)
    await ui.controller.cloudlet("c2", 2)
    await ui.controller.post("/cloudlets", {"name": "c3", "pe": "vpls", "vtep": "192.0.2.3", "approval": True})
    await ui.controller.post("/vcps", {"name": "blue"})
    await ui.controller.post("/vcps/blue/members", {"endpoint": "c1-lan"}, confirm_within=600)
    token = await ui.token("ana")
    async with ui.browser() as browser:
        await sign_in(browser, token)
        found = (await browser.get("/api/v1/summary")).json()
    assert (found["cloudlets"], found["endpoints"], found["vcps"]) == (3, 2, 1)
    assert found["agents"] == {"connected": 1, "expected": 2}
    assert found["route_servers"] == [{"name": "rs1", "in_step": True, "error": ""}]
    assert found["trial"]["cause"] == "c1-lan joined blue" and found["trial"]["generation"] == found["generation"]
    assert found["drift"] == {"steps": 0, "failing": 0} and found["event"] > 0
    assert set(found["alarms"].values()) == {0}


def test_a_certificate_is_read_again_when_it_changes(tmp_path: Path) -> None:
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    self_signed(certificate, key)
    files = CertificateFiles(certificate, key)
    first = files._newest
    files.renew()
    assert files._newest is first
    certificate.write_text("half of it")
    with pytest.raises(BadSettings, match="are not a PEM chain and its key"):
        files.renew()
    assert files._newest is first, "the one before stays in use"
    self_signed(certificate, key, "other")
    files.renew()
    assert files._newest is not first
    certificate.unlink()
    with pytest.raises(BadSettings, match="WEFT_UI_CERTIFICATE: cannot read"):
        files.renew()


@ON_SQLITE
async def test_new_connections_get_the_new_certificate(ui: UiSite, tmp_path: Path) -> None:
    port = int(ui.url.rpartition(":")[2])

    def shown() -> str:
        return ssl.get_server_certificate(("127.0.0.1", port))

    before = await asyncio.to_thread(shown)
    self_signed(tmp_path / "ui.pem", tmp_path / "ui-key.pem")
    ui.files.renew()
    after = await asyncio.to_thread(shown)
    assert before != after == (tmp_path / "ui.pem").read_text()


def test_a_key_with_a_password_and_a_foreign_key_are_named(tmp_path: Path) -> None:
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    self_signed(certificate, key)
    self_signed(tmp_path / "other.pem", tmp_path / "other-key.pem")
    with pytest.raises(BadSettings, match="key values mismatch"):
        CertificateFiles(certificate, tmp_path / "other-key.pem")
    locked = tmp_path / "locked.pem"
    words = ["openssl", "pkcs8", "-topk8", "-in", str(key), "-out", str(locked), "-passout", "pass:x"]
    subprocess.run(words, check=True, capture_output=True)
    with pytest.raises(BadSettings, match="key has a password"):
        CertificateFiles(certificate, locked)


def test_a_ui_that_is_not_built_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PACKAGED", "BUILT"):
        monkeypatch.setattr(pages, name, tmp_path)
    with pytest.raises(BadSettings, match="run `make ui`"):
        Pages.built()


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"ui_listen": "127.0.0.1:0"}, "needs WEFT_UI_CERTIFICATE and WEFT_UI_KEY"),
        ({"ui_listen": "nowhere"}, "not HOST:PORT"),
        ({"ui_url": "http://weft.example"}, "is not https://HOST"),
        ({"ui_url": "https://weft.example/ui"}, "is not https://HOST"),
        ({"ui_url": "https://ana@weft.example"}, "is not https://HOST"),
        ({"ui_idle_seconds": 5}, "greater than or equal to 60"),
        (
            {"oidc": {"issuer": "https://i.example", "audience": ["w"], "roles": {"a": "viewer"}, "client_id": "w"}},
            "needs WEFT_UI_URL",
        ),
    ],
)
def test_settings_that_do_not_fit(values: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Settings.model_validate(values)
