"""What a controller is told by its environment: variables named WEFT_… (WEFT_LISTEN, WEFT_ROUTE_SERVERS, …)."""

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

from pydantic import AnyHttpUrl, BaseModel, Field, TypeAdapter, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

_url = TypeAdapter(AnyHttpUrl)


class RouteServerSettings(BaseModel):
    """`address` is what PEs peer with, `control` the base URL of the control API."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
    address: str
    control: str

    @field_validator("address")
    @classmethod
    def _is_address(cls, value: str) -> str:
        return str(ip_address(value))

    @field_validator("control")
    @classmethod
    def _is_url(cls, value: str) -> str:
        return str(_url.validate_python(value)).rstrip("/")


class Settings(BaseSettings):
    """Times are in seconds. Without `admin_token_file` the operator API is served on the unix socket only."""

    model_config = SettingsConfigDict(env_prefix="WEFT_")

    database_url: str = "sqlite+aiosqlite:///weft.db"
    listen: str = "127.0.0.1:8080"
    socket: Path | None = None
    route_servers: list[RouteServerSettings] = []
    route_server_token_file: Path | None = None
    admin_token_file: Path | None = None
    asn: Annotated[int, Field(ge=1, le=4294967294)] = 65000
    agent_timeout: Annotated[float, Field(gt=0, le=60)] = 5.0

    @field_validator("listen")
    @classmethod
    def _is_listen(cls, value: str) -> str:
        host, _, port = value.rpartition(":")
        if not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65535:
            raise ValueError(f"{value!r} is not HOST:PORT")
        if host:
            ip_address(host.strip("[]"))
        return value

    @field_validator("route_servers")
    @classmethod
    def _are_different(cls, value: list[RouteServerSettings]) -> list[RouteServerSettings]:
        for what in ("name", "address", "control"):
            if len({getattr(server, what) for server in value}) != len(value):
                raise ValueError(f"two route servers have the same {what}")
        return value

    @property
    def host(self) -> str:
        """The address to listen on; empty means all."""
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The TCP port to listen on; 0 means any that is free."""
        return int(self.listen.rpartition(":")[2])


class BadSettings(Exception):  # noqa: N818 - it says what is
    """Settings that cannot be used; the message is one sentence for the operator."""


def read_settings() -> Settings:
    """The settings of the environment; raises BadSettings."""
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = "WEFT_" + "_".join(str(part) for part in first["loc"]).upper()
        raise BadSettings(f"{name}: {first['msg']}") from None
    except SettingsError as error:
        field = re.search(r'field "(\w+)"', str(error))
        raise BadSettings(f"WEFT_{field.group(1).upper() if field else '…'}: not valid JSON") from None


def read_token(path: Path | None, name: str) -> str | None:
    """The token in a file, without white space around it; raises BadSettings."""
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
