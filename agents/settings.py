"""The agent's configuration file (TOML), checked key by key."""

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, HttpUrl, ValidationError


class ConfigError(Exception):
    """The configuration file cannot be used; the text names the file and the key."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GobgpSettings(_Table):
    """Where the PE's gobgpd listens for gRPC (`host:port`); used by VPLS endpoints."""

    api: str = Field(default="127.0.0.1:50051", pattern=r"^\S+:\d{1,5}$")


class FrrSettings(_Table):
    """FRR's directory of vty sockets and the configuration file the agent keeps; used by EVPN endpoints."""

    vty_dir: Path = Path("/run/frr")
    conf: Path = Path("/etc/frr/frr.conf")


class Settings(_Table):
    """What one agent needs to know before it has asked the controller.

    `controller` is its URL, `token_file` holds the one-time enrolment token (read at the first start only),
    `state_dir` keeps the credential, the last desired state and the leases.
    """

    cloudlet: str = Field(min_length=1, max_length=63)
    controller: HttpUrl
    token_file: Path
    state_dir: Path
    gobgp: GobgpSettings = GobgpSettings()
    frr: FrrSettings = FrrSettings()


def load(path: Path) -> Settings:
    """Reads the file. Raises ConfigError, one line per wrong key."""
    try:
        document = tomllib.loads(path.read_text())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from error
    try:
        return Settings.model_validate(document)
    except ValidationError as error:
        lines = [f"{path}: {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        raise ConfigError("\n".join(lines)) from error
