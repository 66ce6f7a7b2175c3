"""The settings that a controller runs with, for bug reports. Secrets, and the paths of their files, are not among
them."""

import platform
from typing import Self

from fastapi import APIRouter
from pydantic import BaseModel
from sqlalchemy.engine import make_url

from controller.api.access import Operator, Running
from controller.api.openapi import errors
from controller.settings import Settings

router = APIRouter(prefix="/api/v1/settings", tags=["health"], dependencies=[Operator])


class RouteServerInSettings(BaseModel):
    """A route server as the settings name it: its BGP address, and whether its control API speaks TLS."""

    name: str
    address: str
    tls: bool


class ControllerSettings(BaseModel):
    """The settings of the controller that answers, its release, and the versions that it runs on. `database` is the
    kind of database. A secret or a file is only said to be there: `socket`, `admin_token`, `route_server_token`,
    `session_secret`, `webhook_key`, `oidc`, `manual`. `authority` is the kind of authority, null if it issues no
    certificates."""

    replica: str
    release: str
    python: str
    kernel: str
    database: str
    listen: str
    socket: bool
    admin_token: bool
    route_servers: list[RouteServerInSettings]
    route_server_token: bool
    session_secret: bool
    webhook_key: bool
    webhook_http: bool
    log_format: str
    asn: int
    enrolled_only: bool
    agent_timeout: float
    authority: str | None
    agent_listen: str | None
    agent_tls_only: bool
    connections: int
    peer_connections: int
    request_seconds: float
    caller_rate: float
    stranger_rate: float
    oidc: bool
    certificate_seconds: int
    ui_listen: str | None
    ui_idle_seconds: int
    ui_session_seconds: int
    manual: bool

    @classmethod
    def of(cls, settings: Settings, release: str) -> Self:
        """Return what may be told of settings: named values, never the rest."""
        return cls(
            replica=settings.replica,
            release=release,
            python=platform.python_version(),
            kernel=platform.release(),
            database=make_url(settings.database_url).get_backend_name(),
            listen=settings.listen,
            socket=settings.socket is not None,
            admin_token=settings.admin_token_file is not None,
            route_servers=[
                RouteServerInSettings(name=s.name, address=s.address, tls=s.control.startswith("https:"))
                for s in settings.route_servers
            ],
            route_server_token=settings.route_server_token_file is not None,
            session_secret=settings.session_secret_file is not None,
            webhook_key=settings.webhook_key_file is not None,
            webhook_http=settings.webhook_http,
            log_format=settings.log_format,
            asn=settings.asn,
            enrolled_only=settings.enrolled_only,
            agent_timeout=settings.agent_timeout,
            authority=settings.authority_kind if settings.authority is not None else None,
            agent_listen=settings.agent_listen,
            agent_tls_only=settings.agent_tls_only,
            connections=settings.connections,
            peer_connections=settings.peer_connections,
            request_seconds=settings.request_seconds,
            caller_rate=settings.caller_rate,
            stranger_rate=settings.stranger_rate,
            oidc=settings.oidc is not None,
            certificate_seconds=settings.certificate_seconds,
            ui_listen=settings.ui_listen,
            ui_idle_seconds=settings.ui_idle_seconds,
            ui_session_seconds=settings.ui_session_seconds,
            manual=settings.manual is not None,
        )


@router.get("", responses=errors(), summary="Show the settings")
async def show(region: Running) -> ControllerSettings:
    """Return the settings of the controller that answers, without secrets."""
    return ControllerSettings.of(region.settings, region.replication.replicas.release)
