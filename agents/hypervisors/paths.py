"""Several paths between two hosts: MPTCP's path manager in the kernel (RFC 8684, section 3.4), by `ip mptcp`.

QEMU listens at one address. At the other addresses the kernel itself listens, on the same port, only for additional
subflows of that connection. It announces these addresses to the source, which makes a subflow to each.
"""

import math
import re
import socket
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from agents import command
from agents.answer import Unreadable, read_json
from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.target import HostPort

SUBFLOWS = 4
"""Least number of additional subflows of a connection."""

ROOM = 8 << 20
"""Least bytes of a receive buffer. The kernel's usual 128 KiB can be full of data that came out of order over one path
before the buffer has grown. The data before it, on another path, then never finds room."""

_RMEM = Path("/proc/sys/net/ipv4/tcp_rmem")


class _Endpoint(TypedDict):
    """An endpoint in the output of `ip mptcp endpoint show`."""

    address: str
    id: int
    port: NotRequired[int]


_ENDPOINTS = TypeAdapter(list[_Endpoint])


def leaves(place: HostPort, address: str) -> None:
    """Make sure that packets to that place leave from `address`, our own: the fence at the other end accepts no other
    source. Nothing is sent. Raises HypervisorError, which says what to do."""
    with socket.socket(socket.AF_INET6 if ":" in place.host else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((place.host, place.port))
        except OSError:
            return  # there is no route to it, which the transfer itself will report
        source = probe.getsockname()[0]
    if ip_address(source) != ip_address(address):
        raise HypervisorError(
            f"packets to {place.host} leave from {source}, but that host accepts only the tunnel address {address}: "
            f"its route needs 'src {address}'"
        )


async def allow() -> None:
    """Allow connections of this host to have several paths. Raises HypervisorError."""
    now = dict(re.findall(r"(add_addr_accepted|subflows) (\d{1,9})", await _ip("limits", "show")))
    if any(int(now.get(name, 0)) < SUBFLOWS for name in ("add_addr_accepted", "subflows")):
        await _ip("limits", "set", "subflows", str(SUBFLOWS), "add_addr_accepted", str(SUBFLOWS))


def make_room() -> None:
    """Give sockets that listen from now on room for data over several paths. Raises HypervisorError."""
    try:
        least, usual, most = map(int, _RMEM.read_text().split())
        if usual < ROOM:
            _RMEM.write_text(f"{least} {ROOM} {max(most, ROOM)}")
    except (OSError, ValueError) as error:
        raise HypervisorError(f"{_RMEM}: {error}") from error


async def offer(places: Sequence[HostPort]) -> None:
    """Allow subflows to these places too. Raises HypervisorError."""
    await allow()
    known = {(one["address"], one.get("port")) for one in await _endpoints()}
    for place in places:
        if (place.host, place.port) not in known:
            await _ip("endpoint", "add", place.host, "port", str(place.port), "signal")


async def withdraw(places: Sequence[HostPort]) -> None:
    """Stop allowing subflows to these places. A place that is gone already is no error. Raises HypervisorError."""
    if not places:
        return
    gone = {(place.host, place.port) for place in places}
    for one in await _endpoints():
        if (one["address"], one.get("port")) in gone:
            await _ip("endpoint", "delete", "id", str(one["id"]))


async def silence(places: Sequence[HostPort]) -> float:
    """Return the seconds since data to these places was last acknowledged; 0 if no data waits for that (`ss(8)`)."""
    where = " or ".join(f"dst {place}" for place in places)
    said = await _run(["ss", "-Htin", "state", "established", where])
    waiting = [line for line in said.splitlines() if "unacked:" in line]
    ages = [int(age) / 1000 for line in waiting for age in re.findall(r"lastack:(\d{1,18})", line)]
    return min(ages, default=0.0)


async def unheard(places: Sequence[HostPort]) -> float:
    """Return the seconds since data last came to these places of ours; infinite if nobody is connected to them."""
    return await _since_received("src", places)


async def unanswered(places: Sequence[HostPort]) -> float:
    """Return the seconds since data last came from these places of others; infinite without a connection to them."""
    return await _since_received("dst", places)


async def _since_received(end: str, places: Sequence[HostPort]) -> float:
    where = " or ".join(f"{end} {place}" for place in places)
    said = await _run(["ss", "-Htin", "state", "established", where])
    return min((int(age) / 1000 for age in re.findall(r"lastrcv:(\d{1,18})", said)), default=math.inf)


async def _endpoints() -> list[_Endpoint]:
    try:
        return read_json(_ENDPOINTS, await _ip("endpoint", "show", json=True) or "[]")
    except Unreadable as error:
        raise HypervisorError(f"the answer of 'ip mptcp endpoint show' {error}") from None


async def _ip(*words: str, json: bool = False) -> str:
    return await _run(["ip", *(["-j"] if json else []), "mptcp", *words])


async def _run(argv: Sequence[str]) -> str:
    ended = await command.run(*argv)
    if ended.code:
        raise HypervisorError(f"'{' '.join(argv)}' failed: {ended.complaint.strip()}")
    return ended.out
