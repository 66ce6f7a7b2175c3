"""The DHCPv6 server: sockets on one bridge, and the work between them."""

import asyncio
import logging
import socket
from dataclasses import dataclass
from ipaddress import IPv6Address

from agents.dhcp.client_queue import ClientQueue
from agents.dhcp.lease_source import Counted, LeaseRefused, LeaseSource, uncounted
from agents.dhcp.pace import Pace
from agents.dhcp.v4.server import DhcpError
from agents.dhcp.v6.decision import (
    Answer,
    Ask,
    Declined,
    GiveBack,
    Ignore,
    LanSettings6,
    answer,
    decide,
    host_name,
    refuse,
)
from agents.dhcp.v6.message import Message, MessageError, MessageType, decode, encode
from agents.dhcp.v6.packet import CLIENT_PORT, PacketError, ear, hear, mouth
from controller.wire.leases import LeaseRelease, LeaseRequest

log = logging.getLogger(__name__)

_AT_ONCE = 64  # packets to read before other tasks run


@dataclass(frozen=True)
class _Heard:
    """A message with its Ethernet and IPv6 source addresses."""

    mac: bytes
    source: IPv6Address
    multicast: bool
    message: Message

    def __str__(self) -> str:
        return self.message.kind.name


class Dhcp6Server:
    """Serves DHCPv6 on `bridge` for `endpoint`, whose settings are `lan`, with leases from `leases`. `counted` gets
    each message.

    `start` and `stop` belong to one event loop; the sockets are bound to the interface as it is at `start`, so a bridge
    that was made anew needs a new server.
    """

    def __init__(
        self,
        endpoint: str,
        bridge: str,
        lan: LanSettings6,
        leases: LeaseSource,
        pace: Pace | None = None,
        counted: Counted = uncounted,
    ) -> None:
        self._endpoint, self._counted = endpoint, counted
        self._bridge = bridge
        self._lan = lan
        self._leases = leases
        self._turns = ClientQueue(bridge, self._serve, pace)
        self._ear: socket.socket | None = None
        self._mouth: socket.socket | None = None

    async def start(self) -> None:
        """Open the sockets. Raises DhcpError when the bridge does not exist or another server holds the port."""
        try:
            self._mouth = mouth(self._bridge)
            self._ear = ear(self._bridge)
        except OSError as error:
            await self.stop()
            raise DhcpError(f"DHCPv6 server on {self._bridge}: {error.strerror}") from error
        asyncio.get_running_loop().add_reader(self._ear, self._receive)

    async def stop(self) -> None:
        """Close the sockets and cancel all work. Stopping twice is no error."""
        if self._ear:
            asyncio.get_running_loop().remove_reader(self._ear)
            self._ear.close()
            self._ear = None
        await self._turns.stop()
        if self._mouth:
            self._mouth.close()
            self._mouth = None

    def _receive(self) -> None:
        for _ in range(_AT_ONCE):
            if self._ear is None:
                return
            try:
                heard = hear(self._ear)
                if heard is not None:
                    mac, packet = heard
                    if len(mac) != 6 or mac == bytes(6) or mac[0] & 1:
                        continue  # no station's address
                    message = decode(packet.payload)
                    self._counted("in", message.kind.name.lower())
                    self._turns.take(mac, _Heard(mac, packet.source, packet.target.is_multicast, message))
            except BlockingIOError:
                return
            except (PacketError, MessageError) as reason:
                log.debug("%s: ignored a packet: %s", self._bridge, reason)
            except OSError as error:  # the bridge is down: the agent repairs it
                log.debug("%s: %s", self._bridge, error)
                return

    async def _serve(self, heard: _Heard) -> None:
        reply = await self._reply(heard)
        if reply is not None and self._mouth is not None:
            self._mouth.sendto(encode(reply), (str(heard.source), CLIENT_PORT))
            self._counted("out", reply.kind.name.lower())

    async def _reply(self, heard: _Heard) -> Message | None:
        message, mac = heard.message, heard.mac.hex(":")
        match decide(message, self._lan, heard.multicast):
            case Ask() as ask:
                return await self._ask(heard, ask)
            case GiveBack(addresses, reply):
                for address in addresses:
                    if held := self._lan.address4(address):
                        await self._leases.release(LeaseRelease(endpoint=self._endpoint, address=held, mac=mac))
                        log.info("%s: %s gave %s back", self._bridge, mac, address)
                return reply
            case Declined(addresses, reply):
                for address in addresses:
                    if held := self._lan.address4(address):
                        await self._leases.decline(LeaseRelease(endpoint=self._endpoint, address=held, mac=mac))
                return reply
            case Answer(reply):
                return reply
            case Ignore(reason):
                log.debug("%s: ignored %s of %s: %s", self._bridge, message.kind.name, mac, reason)
        return None

    async def _ask(self, heard: _Heard, ask: Ask) -> Message:
        message, mac = heard.message, heard.mac.hex(":")
        hint = self._lan.address4(ask.hint) if ask.hint is not None else None
        renewing = message.kind in (MessageType.RENEW, MessageType.REBIND)
        request = LeaseRequest(
            endpoint=self._endpoint, mac=mac, hostname=host_name(message), address=hint, renewing=renewing
        )
        try:
            if ask.kind is MessageType.ADVERTISE:
                grant = await self._leases.offer(request)
            else:
                grant = await self._leases.grant(request)
                if hint not in (None, grant.address):  # the client gets its own address, whatever it asks for
                    grant = await self._leases.grant(request.model_copy(update={"address": None}))
        except LeaseRefused as refused:
            log.warning("%s: no address for %s: %s", self._bridge, mac, refused.reason)
            return refuse(message, refused.reason, self._lan)
        reply = answer(message, ask, grant, self._lan)
        if reply.kind is MessageType.REPLY:
            address = self._lan.address6(grant)
            log.info("%s: %s has %s (%s of %s)", self._bridge, mac, address, grant.kind, grant.device)
        return reply
