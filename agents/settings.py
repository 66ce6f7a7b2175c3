"""The agent's configuration file (TOML), checked key by key."""

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, HttpUrl, IPvAnyAddress, ValidationError, field_validator

from controller.wire.fields import Name


class ConfigError(Exception):
    """The configuration file cannot be used; the text names the file and the key."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BgpSettings(_Table):
    """`hops`: how far away route servers are at most (1: on the same link). Packets that have crossed more routers are
    dropped, and ours are sent with TTL 255 (GTSM, RFC 5082). Without it they may be anywhere."""

    hops: int | None = Field(default=None, ge=1, le=254)


class GobgpSettings(_Table):
    """Where the PE's gobgpd listens for gRPC, used by VPLS endpoints: a socket (`unix:///path`, as gobgpd says it), or
    `host:port`, where every user of this machine may read its keys and announce routes."""

    api: str = Field(default="unix:///run/weft-gobgpd/api.sock", pattern=r"^(unix:///[!-~]{1,106}|[^\s/]+:\d{1,5})$")


class FrrSettings(_Table):
    """FRR's directory of vty sockets and the configuration file the agent keeps; used by EVPN endpoints."""

    vty_dir: Path = Path("/run/frr")
    conf: Path = Path("/etc/frr/frr.conf")


class IpsecSettings(_Table):
    """Where this cloudlet's charon listens for vici, and the MTU of the way to other cloudlets, in bytes. Without this
    table tunnels are in the clear."""

    vici: Path = Path("/run/charon.vici")
    path_mtu: int = Field(default=1500, ge=1400, le=65535)


class HypervisorSettings(_Table):
    """A hypervisor driver: `paths` are all addresses by which other cloudlets reach this one (its tunnel address if it
    says nothing; with `[ipsec]` that alone is used), `images` the directory of shared images, `options` the driver's
    own."""

    paths: tuple[IPvAnyAddress, ...] = Field(default=(), max_length=8)
    images: Path | None = None
    options: dict[str, str] = Field(default_factory=dict)


class Settings(_Table):
    """What one agent needs to know before it has asked the controller.

    `controller` is its URL, or a list of the URLs of its replicas, in the order in which they are tried; `token_file`
    holds the one-time enrolment token (read at the first start only), `state_dir` keeps the credential, the last
    desired state and the leases. `identity_group` may read key and certificate below it: that of a route server here.
    """

    cloudlet: str = Field(min_length=1, max_length=63)
    controller: tuple[HttpUrl, ...] = Field(min_length=1)
    token_file: Path
    state_dir: Path
    identity_group: str | None = None
    bgp: BgpSettings = BgpSettings()
    gobgp: GobgpSettings = GobgpSettings()
    frr: FrrSettings = FrrSettings()
    ipsec: IpsecSettings | None = None
    hypervisors: dict[Name, HypervisorSettings] = Field(default_factory=dict)

    @field_validator("controller", mode="before")
    @classmethod
    def _one_or_several(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value


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
