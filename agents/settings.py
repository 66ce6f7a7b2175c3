"""The agent's configuration file (TOML), checked key by key."""

import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, HttpUrl, IPvAnyAddress, ValidationError, field_validator

from controller.wire.fields import Name
from controller.wire.units import Bytes

IMAGES = Path("/var/lib/weft/images")
"""The directory of images, for drivers and for the agent, unless the settings name another."""


class ConfigError(Exception):
    """The configuration file cannot be used; the text names the file and the key."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class BgpSettings(_Table):
    """The PE's BGP, of both flavours."""

    hops: int | None = Field(default=None, ge=1, le=254)
    """The longest distance to a route server (1: on the same link). The agent's BGP drops packets that have crossed
    more routers, and sends its own with TTL 255 (GTSM, RFC 5082). Without it route servers may be anywhere."""


class LogSettings(_Table):
    """The agent's log. The environment variable WEFT_LOG_FORMAT comes first."""

    format: Literal["text", "json"] = "text"
    """The form of log lines: `text`, or `json`, an object a line."""


class GobgpSettings(_Table):
    """The PE's gobgpd, for VPLS endpoints."""

    api: str = Field(default="unix:///run/weft-gobgpd/api.sock", pattern=r"^(unix:///[!-~]{1,106}|[^\s/]+:\d{1,5})$")
    """The address at which gobgpd serves gRPC: a socket (`unix:///path`, as gobgpd writes it), or `host:port`, where
    every user of this machine may read its keys and announce routes."""


class FrrSettings(_Table):
    """The PE's FRR, for EVPN endpoints."""

    vty_dir: Path = Path("/run/frr")
    """The directory of FRR's vty sockets."""

    conf: Path = Path("/etc/frr/frr.conf")
    """The configuration file that the agent keeps."""


class IpsecSettings(_Table):
    """Encrypted tunnels. Without this table tunnels are not encrypted."""

    vici: Path = Path("/run/charon.vici")
    """The vici socket of this cloudlet's charon."""

    path_mtu: Annotated[Bytes, Field(ge=1400, le=65535)] = 1500
    """The MTU of the way to other cloudlets."""


class ImagesSettings(_Table):
    """The images that the agent fetches and serves."""

    directory: Path = IMAGES
    """The directory of the images."""

    most_bytes: int | None = Field(default=None, ge=0, json_schema_extra={"unit": "bytes"})
    """The most of all images together; none given: as much as the disk has."""

    port: int = Field(default=7790, ge=0, le=65535)
    """The TCP port of the VTEP at which other cloudlets fetch images; 0: they cannot."""

    credentials: Path | None = None
    """A file with credentials for registries, in the form of Docker's config.json."""


class MetricsSettings(_Table):
    """Metrics for Prometheus' node_exporter."""

    file: Path | None = None
    """The file of the agent's metrics, `*.prom` in the folder that node_exporter reads
    (`--collector.textfile.directory`); without it none are written."""

    @field_validator("file")
    @classmethod
    def _is_read(cls, value: Path | None) -> Path | None:
        if value is not None and (value.suffix != ".prom" or not value.is_absolute()):
            raise ValueError("node_exporter reads only files called *.prom; name one by its whole path")
        return value


class HypervisorSettings(_Table):
    """A hypervisor driver."""

    paths: tuple[IPvAnyAddress, ...] = Field(default=(), max_length=8)
    """All addresses by which other cloudlets reach this one; none given: its tunnel address, which alone is used with
    `[ipsec]`."""

    images: Path | None = None
    """The directory of shared images; none given: `/var/lib/weft/images`."""

    options: dict[str, str] = Field(default_factory=dict)
    """The driver's own options."""


class Settings(_Table):
    """The settings that one agent needs before it has asked the controller."""

    cloudlet: str = Field(min_length=1, max_length=63)
    """The name of the cloudlet, as in `weft cloudlet add`."""

    controller: tuple[HttpUrl, ...] = Field(min_length=1)
    """The URL of the controller, or a list of the URLs of its replicas in the order in which the agent tries them."""

    token_file: Path
    """The file with the one-time enrolment token, which only the first start reads."""

    state_dir: Path
    """The directory that keeps the credential, the last desired state and the leases."""

    identity_group: str | None = None
    """The group that may read the key and certificate in the state directory, for a route server on this machine."""

    log: LogSettings = LogSettings()
    bgp: BgpSettings = BgpSettings()
    gobgp: GobgpSettings = GobgpSettings()
    frr: FrrSettings = FrrSettings()
    ipsec: IpsecSettings | None = None
    images: ImagesSettings = ImagesSettings()
    metrics: MetricsSettings = MetricsSettings()
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
