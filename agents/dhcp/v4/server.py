"""The DHCP server: sockets on one bridge, and bounded work between them."""

import asyncio
import logging
import socket

from agents.dhcp.client_queue import ClientQueue
from agents.dhcp.lease_source import Counted, LeaseRefused, LeaseSource, uncounted
from agents.dhcp.pace import Pace
from agents.dhcp.v4.decision import (
    Ask,
    Declined,
    GiveBack,
    Ignore,
    Inform,
    Refuse,
    answer,
    decide,
    destination,
    host_name,
    inform,
    nak,
)
from agents.dhcp.v4.message import Message, MessageError, MessageType, Option, decode, encode
from agents.dhcp.v4.packet import SERVER_PORT, packet
from agents.dhcp.v4.settings import LanSettings
from controller.wire.leases import LeaseRelease, LeaseRequest

log = logging.getLogger(__name__)

_ETH_P_IP = 0x0800


class DhcpError(Exception):
    """Raised when a DHCP server cannot start. The text is for users."""


class DhcpServer(asyncio.DatagramProtocol):
    """Serves DHCP on `bridge` for `endpoint`, whose settings are `lan`, with leases from `leases`. `counted` gets each
    message.

    `start` and `stop` belong to one event loop; the sockets are bound to the interface as it is at `start`, so a bridge
    that was made anew needs a new server.
    """

    def __init__(
        self,
        endpoint: str,
        bridge: str,
        lan: LanSettings,
        leases: LeaseSource,
        pace: Pace | None = None,
        counted: Counted = uncounted,
    ) -> None:
        self._endpoint, self._counted = endpoint, counted
        self._bridge = bridge
        self._lan = lan
        self._leases = leases
        self._turns = ClientQueue(bridge, self._serve, pace)
        self._transport: asyncio.DatagramTransport | None = None
        self._out: socket.socket | None = None

    async def start(self) -> None:
        """Open the sockets. Raises DhcpError when the bridge does not exist or another server holds the port."""
        inward = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        try:
            inward.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, self._bridge.encode())
            inward.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            inward.bind(("0.0.0.0", SERVER_PORT))
            self._out = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        except OSError as error:
            inward.close()
            raise DhcpError(f"DHCP server on {self._bridge}: {error.strerror}") from error
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(lambda: self, sock=inward)

    async def stop(self) -> None:
        """Close the sockets and cancel all work. Stopping twice is no error."""
        if self._transport:
            self._transport.close()
            self._transport = None
        await self._turns.stop()
        if self._out:
            self._out.close()
            self._out = None

    def datagram_received(self, data: bytes, addr: tuple[str | None, int]) -> None:
        """Take in one datagram. Never raises."""
        try:
            message = decode(data)
        except MessageError as reason:
            log.debug("%s: ignored a datagram from %s: %s", self._bridge, addr[0], reason)
            return
        self._counted("in", message.kind.name.lower())
        self._turns.take(message.mac, message)

    def error_received(self, exc: Exception) -> None:
        """Log an ICMP error, for example about a client that left. There is nothing else to do."""
        log.debug("%s: %s", self._bridge, exc)

    async def _serve(self, message: Message) -> None:
        reply = await self._reply(message)
        if reply:
            self._send(message, reply)
            self._counted("out", reply.kind.name.lower())

    async def _reply(self, message: Message) -> Message | None:
        step = decide(message, self._lan)
        mac = message.mac.hex(":")
        match step:
            case Ask():
                return await self._ask(message, step)
            case GiveBack(address):
                client_id = _client_id(message)
                await self._leases.release(
                    LeaseRelease(endpoint=self._endpoint, address=str(address), mac=mac, client_id=client_id)
                )
                log.info("%s: %s gave %s back", self._bridge, mac, address)
            case Declined(address):
                client_id = _client_id(message)
                await self._leases.decline(
                    LeaseRelease(endpoint=self._endpoint, address=str(address), mac=mac, client_id=client_id)
                )
            case Inform():
                return inform(message, self._lan)
            case Refuse(reason):
                log.info("%s: NAK to %s: %s", self._bridge, mac, reason)
                return nak(message, self._lan, reason)
            case Ignore(reason):
                log.debug("%s: ignored %s of %s: %s", self._bridge, message.kind.name, mac, reason)
        return None

    async def _ask(self, message: Message, ask: Ask) -> Message | None:
        mac = message.mac.hex(":")
        request = LeaseRequest(
            endpoint=self._endpoint,
            mac=mac,
            client_id=_client_id(message),
            hostname=host_name(message),
            address=str(ask.hint) if ask.hint else None,
            renewing=ask.renewing,
        )
        try:
            work = self._leases.offer if ask.kind is MessageType.OFFER else self._leases.grant
            grant = await work(request)
        except LeaseRefused as refused:
            log.warning("%s: no address for %s: %s", self._bridge, mac, refused.reason)
            return nak(message, self._lan, refused.reason) if ask.insists else None
        reply = answer(message, ask, grant, self._lan)
        if reply.kind is MessageType.ACK:
            log.info("%s: %s has %s (%s of %s)", self._bridge, mac, grant.address, grant.kind, grant.device)
        return reply

    def _send(self, request: Message, reply: Message) -> None:
        if not self._out:
            return
        mac, address = destination(request, reply)
        data = packet(self._lan.gateway, address, encode(reply))
        # With SOCK_DGRAM the kernel writes the Ethernet header, with the bridge's current address.
        self._out.sendto(data, (self._bridge, _ETH_P_IP, 0, 0, mac))


def _client_id(message: Message) -> str | None:
    value = message.options.get(Option.CLIENT_ID)
    return value.hex() if value else None
