"""The door to libvirt (libvirt.org/html, module `libvirt`): all calls to one libvirtd. No other module imports libvirt.

Each call has a connection of its own: a libvirtd may be restarted at any time. Domains are known by their UUIDs.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from xml.etree import ElementTree

from agents.hypervisors.hypervisor import HypervisorError, Refused
from agents.hypervisors.libvirt.interface import plugged
from agents.hypervisors.libvirt.processor import models

try:
    import libvirt
    import libvirt_qemu
except ImportError as error:
    raise Refused(f"the Python package libvirt-python cannot be used: {error}") from error

log = logging.getLogger(__name__)

T = TypeVar("T")
PATIENCE = 30.0
"""Seconds that an answer may take; the start of a domain may take twice that."""

_GONE = 10.0  # seconds until a domain that was ended is gone
_POLL = 0.02
# The second error: the domain is paused, or was resumed just now and libvirt does not know of it yet.
_UNASKED = (libvirt.VIR_ERR_AGENT_UNRESPONSIVE, libvirt.VIR_ERR_OPERATION_INVALID)


class LibvirtAway(HypervisorError):  # noqa: N818 - a state
    """Raised when there is no answer at the URI, or not in time."""


class NobodyThere(HypervisorError):  # noqa: N818 - a state
    """Raised when no agent listens in the guest, or not yet."""


libvirt.registerErrorHandler(lambda context, error: None, None)  # by default libvirt also prints its errors


class Connection:
    """The connection to the libvirtd at `uri`. All methods raise HypervisorError."""

    def __init__(self, uri: str) -> None:
        self._uri = uri

    async def version(self) -> str:
        """Return the version of the libvirtd."""
        number = await self._do(lambda opened: opened.getLibVersion())
        return f"{number // 1_000_000}.{number // 1000 % 1000}.{number % 1000}"

    async def confinements(self) -> Sequence[str]:
        """Return the security models by which libvirtd confines QEMU, including `dac`."""

        def work(opened: Any) -> Sequence[str]:
            said = ElementTree.fromstring(opened.getCapabilities())
            return [str(model.text) for model in said.iterfind("host/secmodel/model")]

        return await self._do(work)

    async def models(self, emulator: str, machine: str, accelerator: str) -> frozenset[str]:
        """Return the CPU models that libvirtd knows for this QEMU."""
        kind = "kvm" if accelerator == "kvm" else "qemu"
        return await self._do(
            lambda opened: models(opened.getDomainCapabilities(emulator, "x86_64", machine, kind)), 2 * PATIENCE
        )

    async def create(self, xml: str) -> None:
        """Create a domain that does not run yet and that libvirtd forgets when it ends."""
        await self._do(lambda opened: opened.createXML(xml, libvirt.VIR_DOMAIN_START_PAUSED), 2 * PATIENCE)

    async def destroy(self, uuid: str) -> None:
        """End the domain. It does not exist any more when this returns."""
        deadline = asyncio.get_running_loop().time() + _GONE
        while not await self._do(lambda opened: _destroyed(opened, uuid)):
            if asyncio.get_running_loop().time() > deadline:
                raise HypervisorError(f"libvirt cannot end the domain {uuid}")
            await asyncio.sleep(_POLL)

    async def connect(self, uuid: str, mac: str, up: bool) -> None:
        """Connect or disconnect the cable of the interface with that MAC address."""

        def work(opened: Any) -> None:
            domain = opened.lookupByUUIDString(uuid)
            interface = plugged(domain.XMLDesc(), mac, up)
            domain.updateDeviceFlags(interface, libvirt.VIR_DOMAIN_AFFECT_LIVE)

        await self._do(work)

    async def ask(self, uuid: str, request: str, seconds: int) -> str:
        """Send one request to the guest's agent, and return its answer. Raises NobodyThere if it could not be sent."""

        def work(opened: Any) -> str:
            domain = opened.lookupByUUIDString(uuid)
            try:
                return str(libvirt_qemu.qemuAgentCommand(domain, request, seconds, 0))
            except libvirt.libvirtError as error:
                if error.get_error_code() in _UNASKED:
                    raise NobodyThere(str(error)) from error
                if error.get_error_code() is None:  # libvirt says no more when the guest closes its end meanwhile
                    raise HypervisorError("the guest's agent went away while it was asked") from error
                raise

        return await self._do(work, PATIENCE + seconds)

    async def _do(self, work: Callable[[Any], T], seconds: float = PATIENCE) -> T:
        """Run `work` in a thread. If cancelled, wait for the thread, so that the next call sees its effect."""
        task = asyncio.ensure_future(asyncio.to_thread(self._work, work))
        try:
            done, _ = await asyncio.wait({task}, timeout=seconds)
        except asyncio.CancelledError:
            await asyncio.wait({task}, timeout=seconds)
            raise
        if not done:
            raise LibvirtAway(f"libvirt at {self._uri} did not answer within {seconds:g} s")
        return task.result()

    def _work(self, work: Callable[[Any], T]) -> T:
        try:
            opened = libvirt.open(self._uri)
        except libvirt.libvirtError as error:
            raise LibvirtAway(f"libvirt at {self._uri} does not answer: {error}") from error
        try:
            return work(opened)
        except libvirt.libvirtError as error:
            if error.get_error_domain() == libvirt.VIR_FROM_RPC:
                raise LibvirtAway(f"libvirt at {self._uri} went away: {error}") from error
            raise HypervisorError(f"libvirt: {error}") from error
        except (ElementTree.ParseError, ValueError, TypeError, AttributeError) as error:
            # Also for text of a guest that is no UTF-8, which the binding cannot return.
            log.debug("libvirt at %s", self._uri, exc_info=True)
            text = f"libvirt at {self._uri} answered what cannot be read: {type(error).__name__}"
            raise HypervisorError(text) from error
        finally:
            with suppress(libvirt.libvirtError):
                opened.close()


def _destroyed(opened: Any, uuid: str) -> bool:
    """Destroy the domain. Return whether it was gone already."""
    try:
        opened.lookupByUUIDString(uuid).destroy()
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
            return True
        if error.get_error_code() != libvirt.VIR_ERR_OPERATION_INVALID:  # it is going already
            raise
    return False
