"""A controller tells, for bug reports, its settings without secrets, and agents' last reports."""

from pathlib import Path

from controller.api.settings import ControllerSettings
from controller.settings import OidcSettings, RouteServerSettings, Settings
from tests.kernels import kernel
from tests.unit.controller.conftest import Controller, problem

HIDDEN, SECRET = "Pa55-w0rd", "s3cret"

PRESENCE = {
    "admin_token_file": "admin_token",
    "route_server_token_file": "route_server_token",
    "session_secret_file": "session_secret",
    "webhook_key_file": "webhook_key",
    "database_url": "database",
    "authority_kind": "authority",
    "ui_certificate": "ui_listen",
    "ui_key": "ui_listen",
    "ui_url": "ui_listen",
}
"""Settings that are told under another name, and not as they are."""


def test_settings_are_told_without_secrets() -> None:
    settings = Settings(
        database_url=f"postgresql+asyncpg://weft:{HIDDEN}@db.example/weft?password=swordfish",
        listen="192.0.2.5:8080",
        socket=Path("/run/weft/s3cret.sock"),
        replica="north",
        route_servers=[
            RouteServerSettings(name="rs1", address="192.0.2.1", control=f"https://ana:{SECRET}@192.0.2.1:1")
        ],
        route_server_token_file=Path("/etc/weft/s3cret"),
        admin_token_file=Path("/etc/weft/s3cret"),
        session_secret_file=Path("/etc/weft/s3cret"),
        authority=Path("/var/lib/weft/s3cret"),
        agent_listen="192.0.2.5:8443",
        oidc=OidcSettings(issuer="https://id.example/s3cret", audience=["s3cret"], roles={"s3cret": "admin"}),
    )
    told = ControllerSettings.of(settings, "1.4.0")
    text = told.model_dump_json()
    assert not [word for word in ("Pa55", "swordfish", "s3cret", "db.example", "id.example") if word in text]
    assert (told.database, told.admin_token, told.oidc, told.authority) == ("postgresql", True, True, "built-in")
    assert told.route_servers[0].tls and told.agent_listen == "192.0.2.5:8443"
    bare = ControllerSettings.of(Settings(replica="north"), "1.4.0")
    assert (bare.database, bare.admin_token, bare.oidc, bare.authority) == ("sqlite", False, False, None)


def test_every_setting_is_told_in_some_form() -> None:
    told = {PRESENCE.get(name, name) for name in Settings.model_fields}
    assert told <= ControllerSettings.model_fields.keys()


async def test_the_api_tells_them_and_the_last_reports(controller: Controller) -> None:
    found = await controller.get("/settings")
    assert found["asn"] == controller.region.settings.asn and found["python"].startswith("3.")
    agent = await controller.agent("c1", 1)
    await controller.cloudlet("c2", 2)
    report = kernel(agent.documents[-1]).model_copy(update={"agent_version": "1.4.0"})
    await agent.report(report)
    last = await controller.get("/cloudlets/c1/report")
    assert last["connected"] and last["report"]["agent_version"] == "1.4.0"
    assert last["report"]["endpoints"][0]["endpoint"] == "c1-lan"
    assert await controller.get("/cloudlets/c2/report") == {"cloudlet": "c2", "connected": False, "report": None}
    problem(await controller.http.get("/api/v1/cloudlets/c9/report"), 404)
