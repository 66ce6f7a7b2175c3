"""The advertiser: a socket on one bridge, and a task that waits and sends."""

import asyncio
import logging
import random
import socket
import struct
from ipaddress import IPv6Address

from agents.dhcp.ra.message import SOLICITATION, Advertisement, MessageError, check, encode
from agents.dhcp.ra.schedule import Schedule

log = logging.getLogger(__name__)

_ALL_NODES, _ALL_ROUTERS = "ff02::1", IPv6Address("ff02::2")
_ICMPV6_FILTER = 1
_BLOCK_ALL = (1 << 32) - 1
_RETRY = 1.0  # seconds; a bridge without a live port has no link-local address to send from yet


class AdvertiserError(Exception):
    """Raised when the advertiser cannot start. The text is for users."""


class Advertiser:
    """Advertises the gateway on `bridge`, with the contents of `told`.

    `start` and `stop` belong to one event loop; the socket is bound to the interface as it is at `start`. `stop` sends
    nothing to the LAN: when the agent stops, the gateway goes on in the kernel.
    """

    def __init__(self, bridge: str, told: Advertisement) -> None:
        self._bridge = bridge
        self._message = encode(told)
        self._socket: socket.socket | None = None
        self._task: asyncio.Task[None] | None = None
        self._asked = asyncio.Event()

    async def start(self) -> None:
        """Open the socket and begin. Raises AdvertiserError when the bridge does not exist."""
        self._asked = asyncio.Event()
        raw = socket.socket(socket.AF_INET6, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.IPPROTO_ICMPV6)
        try:
            raw.setsockopt(socket.IPPROTO_ICMPV6, _ICMPV6_FILTER, _only(SOLICITATION))
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, self._bridge.encode())
            raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)
            raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
            raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
            index = struct.pack("=I", socket.if_nametoindex(self._bridge))
            raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
            raw.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, _ALL_ROUTERS.packed + index)
        except OSError as error:
            raw.close()
            raise AdvertiserError(f"router advertisements on {self._bridge}: {error.strerror}") from error
        self._socket = raw
        loop = asyncio.get_running_loop()
        loop.add_reader(raw, self._receive, raw)
        self._task = asyncio.create_task(self._advertise(raw))

    async def stop(self) -> None:
        """Close the socket. Stopping twice is no error."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        if self._socket:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def greet(self) -> None:
        """Advertise as if a solicitation had come, for devices that are new on the LAN and do not know that they can
        ask."""
        self._asked.set()

    async def _advertise(self, raw: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        schedule = Schedule(loop.time(), random.uniform)
        while True:
            delay = schedule.due - loop.time()
            if delay > 0:
                try:
                    async with asyncio.timeout(delay):
                        await self._asked.wait()
                    self._asked.clear()
                    schedule.solicited(loop.time())
                except TimeoutError:
                    pass
                continue
            try:
                raw.sendto(self._message, (_ALL_NODES, 0))
            except OSError as error:
                log.debug("%s: no router advertisement: %s", self._bridge, error)
                await asyncio.sleep(_RETRY)
                continue
            schedule.advertised(loop.time())

    def _receive(self, raw: socket.socket) -> None:
        try:
            data, ancillary, _, (source, *_) = raw.recvmsg(2048, socket.CMSG_SPACE(4))
            hops = next((struct.unpack_from("=i", value)[0] for _, _, value in ancillary), 0)
            check(data, IPv6Address(source), hops)
        except MessageError as reason:
            log.debug("%s: ignored a solicitation: %s", self._bridge, reason)
        except OSError as error:
            log.debug("%s: %s", self._bridge, error)
        else:
            self._asked.set()


def _only(kind: int) -> bytes:
    """Return a filter that lets one ICMPv6 type through (RFC 3542, section 3.2): a set bit blocks."""
    words = [_BLOCK_ALL] * 8
    words[kind >> 5] &= ~(1 << (kind & 31))
    return struct.pack("=8I", *words)
