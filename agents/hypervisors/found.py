"""The installed drivers: entry points of the group `weft.hypervisors`, loaded when they are needed."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from agents.hypervisors.hypervisor import Capabilities, Hypervisor, HypervisorError, Refused, Site, Stocked
from agents.settings import IMAGES, HypervisorSettings

log = logging.getLogger(__name__)

GROUP = "weft.hypervisors"
_TRYING = 60.0  # seconds that a driver has to find out what it can do


@dataclass(frozen=True)
class Driver:
    """A driver that works here, with its capabilities."""

    name: str
    hypervisor: Hypervisor
    capabilities: Capabilities


class Drivers:
    """The drivers of one cloudlet, each with a directory of its own below `directory`. `settings` are by the driver's
    name. If a driver cannot be loaded, only orders that need it are refused, with the reason. `encrypted`: traffic
    between cloudlets is encrypted, but only between tunnel addresses, so no other path is used. `identity` is the
    directory of this cloudlet's certificate."""

    def __init__(
        self,
        cloudlet: str,
        directory: Path,
        settings: Mapping[str, HypervisorSettings],
        points: Iterable[EntryPoint] | None = None,
        encrypted: bool = False,
        identity: Path | None = None,
    ) -> None:
        self._cloudlet, self._directory, self._settings = cloudlet, directory, settings
        self._encrypted, self._identity = encrypted, identity
        found = entry_points(group=GROUP) if points is None else points
        self._points = {point.name: point for point in found}
        self._loading: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._sites: dict[str, Site] = {}
        self.loaded: dict[str, Driver] = {}

    def expected(self) -> frozenset[str]:
        """Return the drivers that are configured here, or have worked here before and may have machines."""
        worked = {path.name for path in self._directory.glob("*") if path.is_dir()}
        return frozenset(self._settings) | (worked & self._points.keys())

    def images(self) -> frozenset[str] | None:
        """Return the images that machines here need; None if a driver does not say so, or is not loaded yet."""
        needed = frozenset[str]()
        for name in self.expected() | self.loaded.keys():
            driver: object = self.loaded[name].hypervisor if name in self.loaded else None
            if not isinstance(driver, Stocked):
                return None
            try:
                needed |= driver.images()
            except HypervisorError as error:
                log.warning("hypervisor driver %s does not say which images its machines need: %s", name, error)
                return None
        return needed

    async def driver(self, name: str, address: str) -> Driver:
        """Return a driver, loaded if need be; other cloudlets reach this one at `address` from now on. Raises Refused
        with the reason."""
        async with self._loading[name]:
            if name not in self.loaded:
                self.loaded[name] = await self._load(name, address)
                log.info("hypervisor driver %s: %s", name, self.loaded[name].capabilities.version)
            if (site := self._sites.get(name)) is not None and site.address != address:
                site.address, site.paths = address, self._of(name, address)
                log.info("hypervisor driver %s: reached at %s", name, address)
            return self.loaded[name]

    async def _load(self, name: str, address: str) -> Driver:
        if name not in self._points:
            there = ", ".join(sorted(self._points)) or "none"
            raise Refused(f"there is no hypervisor driver {name} on this cloudlet's agent; there is {there}")
        try:
            # The import may take long, and runs code of others.
            make = await asyncio.to_thread(self._points[name].load)
            self._sites[name] = self._site(name, address)
            hypervisor: Hypervisor = make(self._sites[name])
            async with asyncio.timeout(_TRYING):
                capabilities = await hypervisor.capabilities()
        except TimeoutError as error:
            raise Refused(
                f"the hypervisor driver {name} did not report its capabilities within {_TRYING:.0f} s"
            ) from error
        except HypervisorError as error:
            raise Refused(f"the hypervisor driver {name} cannot work here: {error}") from error
        except Exception as error:
            log.exception("the hypervisor driver %s cannot be loaded", name)
            raise Refused(f"the hypervisor driver {name} cannot be loaded: {type(error).__name__}: {error}") from error
        return Driver(name, hypervisor, capabilities)

    def _site(self, name: str, address: str) -> Site:
        settings = self._settings.get(name, HypervisorSettings())
        directory = self._directory / name
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Site(
            cloudlet=self._cloudlet,
            state_dir=directory,
            images=settings.images or IMAGES,
            address=address,
            paths=self._of(name, address),
            options=settings.options,
            identity=self._identity,
        )

    def _of(self, name: str, address: str) -> tuple[str, ...]:
        settings = self._settings.get(name, HypervisorSettings())
        return self._paths(name, tuple(map(str, settings.paths)), address)

    def _paths(self, name: str, configured: tuple[str, ...], address: str) -> tuple[str, ...]:
        if not self._encrypted:
            return configured or (address,)
        if others := ", ".join(path for path in configured if path != address):
            log.warning(
                "hypervisor driver %s: what goes between cloudlets is encrypted by %s alone; not used as paths: %s",
                name,
                address,
                others,
            )
        return (address,)
