"""The agent's configuration file (TOML), checked key by key."""

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, HttpUrl, IPvAnyAddress, ValidationError, field_validator

from controller.wire.fields import Name

IMAGES = Path("/var/lib/weft/images")
"""The directory of images, for drivers and for the agent, unless the settings name another."""


class ConfigError(Exception):
    """The configuration file cannot be used; the text names the file and the key."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BgpSettings(_Table):
    """`hops` is the longest distance to a route server (1: on the same link). The agent's BGP drops packets that have
    crossed more routers, and sends its own with TTL 255 (GTSM, RFC 5082). Without `hops` route servers may be
    anywhere."""

    hops: int | None = Field(default=None, ge=1, le=254)


class GobgpSettings(_Table):
    """The address at which the PE's gobgpd serves gRPC for VPLS endpoints: a socket (`unix:///path`, as gobgpd writes
    it), or `host:port`, where every user of this machine may read its keys and announce routes."""

    api: str = Field(default="unix:///run/weft-gobgpd/api.sock", pattern=r"^(unix:///[!-~]{1,106}|[^\s/]+:\d{1,5})$")


class FrrSettings(_Table):
    """FRR's directory of vty sockets and the configuration file that the agent keeps; used by EVPN endpoints."""

    vty_dir: Path = Path("/run/frr")
    conf: Path = Path("/etc/frr/frr.conf")


class IpsecSettings(_Table):
    """The vici socket of this cloudlet's charon, and the MTU of the way to other cloudlets, in bytes. Without this
    table tunnels are not encrypted."""

    vici: Path = Path("/run/charon.vici")
    path_mtu: int = Field(default=1500, ge=1400, le=65535)


class ImagesSettings(_Table):
    """The images that the agent fetches and serves: their `directory`, the most bytes of all of them (none given: what
    the disk has), the TCP `port` of the VTEP at which other cloudlets fetch them (0: they cannot), and a file with
    credentials for registries in the form of Docker's config.json."""

    directory: Path = IMAGES
    most_bytes: int | None = Field(default=None, ge=0)
    port: int = Field(default=7790, ge=0, le=65535)
    credentials: Path | None = None


class HypervisorSettings(_Table):
    """A hypervisor driver. `paths` are all addresses by which other cloudlets reach this one (none given: its tunnel
    address, which alone is used with `[ipsec]`). `images` is the directory of shared images, and `options` are the
    driver's own."""

    paths: tuple[IPvAnyAddress, ...] = Field(default=(), max_length=8)
    images: Path | None = None
    options: dict[str, str] = Field(default_factory=dict)


class Settings(_Table):
    """The settings that one agent needs before it has asked the controller.

    `controller` is its URL, or a list of the URLs of its replicas in the order in which the agent tries them.
    `token_file` holds the one-time enrolment token, which only the first start reads. `state_dir` keeps the credential,
    the last desired state and the leases. The group `identity_group` may read the key and certificate in it; a route
    server on this machine uses that.
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
    images: ImagesSettings = ImagesSettings()
    hypervisors: dict[Name, HypervisorSettings] = Field(default_factory=dict)

    @field_validator("controller", mode="before")
    @classmethod
    def _one_or_several(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value


def load(path: Path) -> Settings:
    """Return the settings in the file. Raises ConfigError with one line per wrong key."""
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
