"""The DHCP server: sockets on one bridge, and bounded work between them."""

import asyncio
import logging
import socket
import time
from collections import deque
from ipaddress import IPv4Address, IPv4Network

from agents.dhcp.decision import (
    Ask,
    Declined,
    GiveBack,
    Ignore,
    Inform,
    Lan,
    Refuse,
    answer,
    decide,
    destination,
    host_name,
    inform,
    nak,
)
from agents.dhcp.leases import LeaseRefused, LeaseSource
from agents.dhcp.message import Kind, Message, MessageError, Option, decode, encode
from agents.dhcp.pace import Pace
from agents.dhcp.packet import SERVER_PORT, packet
from controller.wire.leases import LeaseRelease, LeaseRequest

log = logging.getLogger(__name__)

_ETH_P_IP = 0x0800
_CLIENTS_AT_ONCE = 64
_WAITING_PER_CLIENT = 4
_PLAN_TIMEOUT = 8.0  # seconds; by then clients have asked again


class DhcpError(Exception):
    """The server cannot be started. The text is for people."""


class DhcpServer(asyncio.DatagramProtocol):
    """Serves DHCP on `bridge` for `endpoint`, out of `leases`. `gateway` is the server's own address on the LAN.

    One client's messages are handled in order, so that a release cannot overtake the request before it. What is too
    much is dropped; clients ask again. `start` and `stop` belong to one event loop; the sockets are bound to the
    interface as it is at `start`, so a bridge that was made anew needs a new server.
    """

    def __init__(
        self,
        endpoint: str,
        bridge: str,
        gateway: str,
        prefix: str,
        mtu: int,
        leases: LeaseSource,
        pace: Pace | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._bridge = bridge
        self._lan = Lan(IPv4Address(gateway), IPv4Network(prefix), mtu)
        self._leases = leases
        self._pace = pace or Pace()
        self._waiting: dict[bytes, deque[Message]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._transport: asyncio.DatagramTransport | None = None
        self._out: socket.socket | None = None

    async def start(self) -> None:
        """Opens the sockets. Raises DhcpError when the bridge is not there or another server holds its port."""
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
        """Closes the sockets and drops what is being worked on. Stopping twice is no error."""
        if self._transport:
            self._transport.close()
            self._transport = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._waiting.clear()
        if self._out:
            self._out.close()
            self._out = None

    def datagram_received(self, data: bytes, addr: tuple[str | None, int]) -> None:
        """Takes in one datagram; never raises."""
        try:
            message = decode(data)
        except MessageError as reason:
            log.debug("%s: ignored a datagram from %s: %s", self._bridge, addr[0], reason)
            return
        client = message.mac
        if not self._pace.allows(client, time.monotonic()):
            log.debug("%s: %s asks too often", self._bridge, client.hex(":"))
            return
        if waiting := self._waiting.get(client):
            if len(waiting) < _WAITING_PER_CLIENT:
                waiting.append(message)
            return
        if len(self._waiting) >= _CLIENTS_AT_ONCE:
            log.warning(
                "%s: %d clients are being served; %s has to wait", self._bridge, _CLIENTS_AT_ONCE, client.hex(":")
            )
            return
        self._waiting[client] = deque([message])
        task = asyncio.create_task(self._serve_client(client))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def error_received(self, exc: Exception) -> None:
        """An ICMP error, say from a client that left: nothing to do."""
        log.debug("%s: %s", self._bridge, exc)

    async def _serve_client(self, client: bytes) -> None:
        waiting = self._waiting[client]
        try:
            while waiting:
                message = waiting[0]
                try:
                    async with asyncio.timeout(_PLAN_TIMEOUT):
                        reply = await self._reply(message)
                    if reply:
                        self._send(message, reply)
                except Exception as error:
                    # The plan is out of reach or wrong: silence, and the client asks again.
                    kind, text = message.kind.name, str(error) or type(error).__name__
                    log.warning("%s: no answer to %s of %s: %s", self._bridge, kind, client.hex(":"), text)
                waiting.popleft()
        finally:
            self._waiting.pop(client, None)

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
                log.warning("%s: %s says that %s is in use by somebody else", self._bridge, mac, address)
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
        )
        try:
            grant = await self._leases.grant(request)
        except LeaseRefused as refused:
            log.warning("%s: no address for %s: %s", self._bridge, mac, refused.reason)
            return nak(message, self._lan, refused.reason) if ask.insists else None
        reply = answer(message, ask, grant, self._lan)
        if reply.kind is Kind.ACK:
            log.info("%s: %s has %s (%s of %s)", self._bridge, mac, grant.address, grant.kind, grant.device)
        return reply

    def _send(self, request: Message, reply: Message) -> None:
        if not self._out:
            return
        mac, address = destination(request, reply)
        data = packet(self._lan.gateway, address, encode(reply))
        # With SOCK_DGRAM the kernel writes the Ethernet header, with the bridge's address of the moment.
        self._out.sendto(data, (self._bridge, _ETH_P_IP, 0, 0, mac))


def _client_id(message: Message) -> str | None:
    value = message.options.get(Option.CLIENT_ID)
    return value.hex() if value else None
