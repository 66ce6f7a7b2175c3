"""The settings of a controller, from environment variables named WEFT_… (WEFT_LISTEN, WEFT_ROUTE_SERVERS, …)."""

import os
import re
import socket
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AnyHttpUrl,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from controller.core.oidc_users import ALGORITHMS, trusted
from controller.core.roles import Role
from controller.wire.units import PerSecond, Seconds, WholeSeconds

_url = TypeAdapter(AnyHttpUrl)


Text = Annotated[str, Field(min_length=1, max_length=200)]

BUILT_IN = "built-in"
"""The kind of the authority that is part of the controller."""


def _host_and_pid() -> str:
    pid = f":{os.getpid()}"
    return socket.gethostname()[: 63 - len(pid)] + pid


class OidcSettings(BaseModel):
    """The issuer of users' tokens and the roles of users: WEFT_OIDC, as a JSON object."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    issuer: str
    """URL of the issuer: https, or on this machine."""

    audience: Annotated[list[Text], Field(min_length=1)]
    """A token must be for one of these."""

    roles: Annotated[dict[str, Role], Field(min_length=1)]
    """The role for each value of the claim `role_claim`; the greatest counts."""

    role_claim: Text = "groups"
    """The claim whose values give the role; dots lead into objects."""

    tenant_claim: Text = "tenant"
    """The claim that names the tenant of a user with the role `tenant`."""

    name_claim: Text = "sub"
    """The claim by which the audit log names the user."""

    algorithms: Annotated[list[str], Field(min_length=1)] = ["RS256", "PS256", "ES256", "EdDSA"]
    """The algorithms of signatures that are accepted."""

    skew: Annotated[Seconds, Field(ge=0, le=300)] = 30.0
    """The most that the clocks of issuer and controller may be apart."""

    lifetime: Annotated[Seconds, Field(ge=1, le=86400)] = 3600.0
    """How long a token is good after its issue, at most."""

    client_id: Text | None = None
    """The identifier of this region at the issuer: with it, browsers sign in there."""

    client_secret_file: Path | None = None
    """File with the secret of that identifier, if the issuer has given one."""

    scope: Annotated[str, Field(pattern=r"^openid( [!#-\[\]-~]+)*$", max_length=200)] = "openid"
    """The scope that browsers' sign-in asks the issuer for."""

    keep: Annotated[Seconds, Field(ge=0, le=86400)] = 3600.0
    """How long known keys stay in use while the issuer does not answer."""

    @field_validator("issuer")
    @classmethod
    def _is_trusted(cls, value: str) -> str:
        if not trusted(value):
            raise ValueError("an issuer is an https URL, or on this machine")
        return value

    @field_validator("algorithms")
    @classmethod
    def _are_asymmetric(cls, value: list[str]) -> list[str]:
        for name in value:
            if name not in ALGORITHMS:
                raise ValueError(f"{name!r} is none of {', '.join(ALGORITHMS)}")
        return value


class RouteServerSettings(BaseModel):
    """A route server: an element of WEFT_ROUTE_SERVERS, as a JSON object."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    name: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
    """The name, which is the route server's own `--name`."""

    address: str
    """The IP address that PEs peer with."""

    control: str
    """The base URL of the control API; https with `--identity`."""

    @field_validator("address")
    @classmethod
    def _is_address(cls, value: str) -> str:
        return str(ip_address(value))

    @field_validator("control")
    @classmethod
    def _is_url(cls, value: str) -> str:
        return str(_url.validate_python(value)).rstrip("/")


class Settings(BaseSettings):
    """The settings of a controller."""

    model_config = SettingsConfigDict(env_prefix="WEFT_", use_attribute_docstrings=True)

    log_format: Literal["text", "json"] = "text"
    """The form of log lines: `text`, or `json`, an object a line."""

    database_url: str = "sqlite+aiosqlite:///weft.db"
    """The database: `sqlite:///FILE`, or `postgresql://USER@HOST/NAME?passfile=FILE`, which several controllers may
    share."""

    listen: str = "127.0.0.1:8080"
    """HOST:PORT of the API over plain HTTP; port 0 is any free one."""

    socket: Path | None = None
    """Path of the API's unix socket; each user who may open it is an admin."""

    replica: Annotated[str, Field(pattern=r"^[!-~]{1,63}$")] = Field(default_factory=lambda: _host_and_pid())
    """Name of this controller among those on the same database; by default `HOST:PID`."""

    route_servers: list[RouteServerSettings] = []
    """The route servers of the region, as a JSON list of objects."""

    route_server_token_file: Path | None = None
    """File with the token of the route servers' control API."""

    admin_token_file: Path | None = None
    """File with the admins' token; without it the operator API is served on the unix socket only."""

    session_secret_file: Path | None = None
    """File with the secret from which the keys of BGP sessions are derived; without it sessions are not signed."""

    asn: Annotated[int, Field(ge=1, le=4294967294)] = 65000
    """AS number of the region."""

    webhook_key_file: Path | None = None
    """File with the key that encrypts the secrets of webhooks; without it none can be registered."""

    webhook_http: bool = False
    """Whether webhooks may have http:// URLs on other machines."""

    enrolled_only: bool = False
    """Whether route servers accept BGP sessions of enrolled cloudlets only, and of no PE without an agent."""

    agent_timeout: Annotated[Seconds, Field(gt=0, le=60)] = 5.0
    """How long a change waits for agents, at most."""

    authority: Path | None = None
    """Directory of the authority that `weft-controller ca init` made; without it the controller issues no
    certificates."""

    authority_kind: str = BUILT_IN
    """Name of the authority that issues certificates; another one is installed beside the controller."""

    agent_listen: str | None = None
    """HOST:PORT of the API over TLS, for agents and remote operators, with the authority's certificates."""

    agent_tls_only: bool = False
    """Whether agents are served over TLS only."""

    connections: Annotated[int, Field(ge=1)] = 10_000
    """The most open connections."""

    peer_connections: Annotated[int, Field(ge=1)] = 2_500
    """The most open connections from one address, or from one IPv6 /64."""

    request_seconds: Annotated[Seconds, Field(gt=0, le=600)] = 30.0
    """How long a request may take to arrive."""

    caller_rate: Annotated[PerSecond, Field(ge=0)] = 200.0
    """Requests of one agent or operator, ten times that at once; 0: no limit."""

    stranger_rate: Annotated[PerSecond, Field(ge=0)] = 20.0
    """Requests from one address without a valid token, ten times that at once; 0: no limit."""

    oidc: OidcSettings | None = None
    """The issuer of users' tokens and the roles of users, as a JSON object."""

    certificate_seconds: Annotated[WholeSeconds, Field(ge=10, le=90 * 86400)] = 86400
    """How long a cloudlet's certificate is good for."""

    manual: Path | None = Path("/usr/share/weft-controller/manual")
    """Directory of the built manual, which is served at `/manual/`; without it there is none."""

    ui_listen: str | None = None
    """HOST:PORT of the web UI over TLS, with the operator's own certificate; without it there is none."""

    ui_certificate: Path | None = None
    """File with the web UI's certificate and its chain."""

    ui_key: Path | None = None
    """File with the key of that certificate."""

    ui_url: str | None = None
    """The URL at which browsers reach the web UI."""

    ui_idle_seconds: Annotated[WholeSeconds, Field(ge=60, le=86_400)] = 3600
    """How long a browser's session lasts without an act of its user."""

    ui_session_seconds: Annotated[WholeSeconds, Field(ge=60, le=30 * 86_400)] = 43_200
    """How long a browser's session lasts at most."""

    @field_validator("listen", "agent_listen", "ui_listen")
    @classmethod
    def _is_listen(cls, value: str | None) -> str | None:
        if value is None:
            return None
        host, _, port = value.rpartition(":")
        if not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65535:
            raise ValueError(f"{value!r} is not HOST:PORT")
        if host:
            ip_address(host.strip("[]"))
        return value

    @field_validator(
        "authority", "agent_listen", "oidc", "session_secret_file", "manual", "webhook_key_file", "ui_listen",
        "ui_certificate", "ui_key", "ui_url", mode="before",
    )  # fmt: skip
    @classmethod
    def _may_be_empty(cls, value: object) -> object:
        return value or None

    @field_validator("ui_url")
    @classmethod
    def _is_origin(cls, value: str | None) -> str | None:
        if value is None:
            return None
        url = _url.validate_python(value)
        if url.scheme != "https" or url.path not in (None, "/") or url.query or url.fragment or url.username:
            raise ValueError(f"{value!r} is not https://HOST or https://HOST:PORT")
        return str(url).rstrip("/")

    @field_validator("route_servers")
    @classmethod
    def _are_different(cls, value: list[RouteServerSettings]) -> list[RouteServerSettings]:
        for what in ("name", "address", "control"):
            if len({getattr(server, what) for server in value}) != len(value):
                raise ValueError(f"two route servers have the same {what}")
        return value

    @model_validator(mode="after")
    def _belong_together(self) -> Self:
        if self.agent_listen and not self.authority:
            raise ValueError("WEFT_AGENT_LISTEN needs WEFT_AUTHORITY: TLS is served with its certificates")
        if self.session_secret_file and not self.agent_listen:
            raise ValueError("WEFT_SESSION_SECRET_FILE needs WEFT_AGENT_LISTEN: keys are told over TLS alone")
        if self.agent_tls_only and not self.agent_listen:
            raise ValueError("WEFT_AGENT_TLS_ONLY needs WEFT_AGENT_LISTEN: agents would be served nowhere")
        if self.ui_listen and not (self.ui_certificate and self.ui_key):
            raise ValueError("WEFT_UI_LISTEN needs WEFT_UI_CERTIFICATE and WEFT_UI_KEY: browsers are served over TLS")
        if self.oidc and self.oidc.client_id and not self.ui_url:
            raise ValueError("client_id in WEFT_OIDC needs WEFT_UI_URL, to which the issuer sends browsers back")
        return self


class BadSettings(Exception):  # noqa: N818 - it says what is
    """Settings that cannot be used; the message is one sentence for the operator."""


def read_settings(file: Path | None = None) -> Settings:
    """Return the settings of the environment, and of a file with lines NAME=VALUE for what is not in it. Raises
    BadSettings."""
    if file is not None and not os.access(file, os.R_OK):
        raise BadSettings(f"--env-file {file}: cannot be read")
    try:
        return Settings(_env_file=file)
    except ValidationError as error:
        first = error.errors()[0]
        name = "WEFT_" + "_".join(str(part) for part in first["loc"]).upper()
        where = f"{name}: " if first["loc"] else ""
        raise BadSettings(f"{where}{first['msg']}") from None
    except SettingsError as error:
        field = re.search(r'field "(\w+)"', str(error))
        raise BadSettings(f"WEFT_{field.group(1).upper() if field else '…'}: not valid JSON") from None


def read_token(path: Path | None, name: str) -> str | None:
    """Return the token in a file, without white space around it; raises BadSettings."""
    if path is None:
        return None
    try:
        token = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise BadSettings(f"{name}: cannot read {path}: {reason}") from None
    if not token:
        raise BadSettings(f"{name}: {path} is empty")
    return token


FEWEST_SECRET = 32
"""Least bytes of a secret that keys are derived from. A random secret of this length cannot be found by trying."""


def read_secret(path: Path | None, name: str) -> bytes | None:
    """Return the secret in a file that only its owner may read; raises BadSettings."""
    if (text := read_token(path, name)) is None or path is None:
        return None
    if (mode := path.stat().st_mode & 0o077) != 0:
        raise BadSettings(f"{name}: {path} can be read by others than its owner (mode {mode:o}); chmod 600 it")
    if len(text.encode()) < FEWEST_SECRET:
        raise BadSettings(f"{name}: {path} has less than {FEWEST_SECRET} bytes; `openssl rand -hex 32` makes enough")
    return text.encode()
