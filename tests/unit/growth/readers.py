"""Readers of foreign input, with the worst input for each: by the reader's file, inputs of any size."""

import asyncio
import base64
import json
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agents import answer
from agents.access import specification
from agents.bgp.frr import daemon, vty
from agents.dhcp.v4 import decision as dhcp_decision
from agents.dhcp.v4 import message as dhcp
from agents.dhcp.v6 import message as dhcp6
from agents.dhcp.v6 import packet as packet6
from agents.host import chains
from agents.hypervisors import guest_json
from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.qemu import guest_agent, guest_answer
from agents.identity import x509 as agents_x509
from agents.ipsec import association, credentials, reasons
from agents.kernel import events
from agents.mac_moves import notifications as mac_notifications
from agents.multipath import options, segment, sockets
from agents.neighbours import icmp, stamp
from agents.nft import notifications
from agents.passages import arp, discovery, echo
from agents.sightings import message as sighting
from controller.api import access, pages
from controller.api.middleware import body_limits, request_head
from controller.auth import jwt
from controller.core import audit, json_limits, webhooks
from controller.core.inventory import parse as parse_inventory
from controller.core.unified_diff import unified
from controller.core.yaml_document import document
from controller.runtime.problems import Problem
from controller.trust import x509
from controller.wire import logs
from controller.wire.access import Filter

DATAGRAM, BODY = 1 << 14, 1 << 17
REFUSALS = (
    ValueError,
    answer.Unreadable,
    HypervisorError,
    Problem,
    jwt.BadToken,
    x509.Unreadable,
    agents_x509.Unfit,
)


@dataclass(frozen=True)
class Case:
    """A reader and a worst shape for it."""

    name: str
    reader: Callable[[Any], object]
    shape: Callable[[int], Any]
    longest: int = BODY

    def read(self, given: Any) -> None:
        """Read the input; a refusal is accepted too."""
        with suppress(*REFUSALS):
            found = self.reader(given)
            if isinstance(found, Iterator):
                for _ in found:
                    pass


def _again(part: bytes, before: bytes = b"", after: bytes = b"") -> Callable[[int], bytes]:
    return lambda size: before + part * max(1, size // len(part)) + after


def _texts(part: str, before: str = "", after: str = "") -> Callable[[int], str]:
    return lambda size: before + part * max(1, size // len(part)) + after


def _all(name: str, reader: Callable[[Any], object], longest: int, *made: Callable[[int], Any]) -> list[Case]:
    return [Case(f"{name} {number}", reader, shape, longest) for number, shape in enumerate(made)]


_JSON = (
    _again(b'"'),
    lambda size: b'"' * (size // 2) + rb"\"" * (size // 4),
    _again(rb"\\"),
    _again(b"["),
    _again(b'{"a":'),
    _again(b"9"),
    _again(b"1,", b"["),
    _again(b'"\\ud83d\\ude00",', b"[", b'""]'),
    _again(b'"a":1,', b"{", b'"b":1}'),
    _again(b" "),
)
_FIXED4 = dhcp.encode(
    dhcp.Message(op=1, xid=1, mac=bytes(6), kind=dhcp.MessageType.DISCOVER, options={dhcp.Option.HOST_NAME: b"a"})
)[:240]  # up to the first option


def _option6(code: int, value: bytes) -> bytes:
    return struct.pack("!HH", code, len(value)) + value


def _association6(size: int) -> bytes:
    return b"\1abc" + _option6(3, bytes(12) + _option6(5, bytes(24)) * (min(size, 60000) // 28))


def _packet6(size: int) -> bytes:
    return b"\x60\0\0\0\0\0\x11\1" + bytes(32) + struct.pack("!HHHH", 546, 547, size + 8, 1) + bytes(size)


def _tcp(field: bytes) -> bytes:
    return bytes(12) + b"\x86\xdd" + b"\x60" + bytes(5) + b"\0\0" + bytes(32) + field


def _stream(ask: Callable[[asyncio.StreamReader], Any], limit: int) -> Callable[[bytes], object]:
    async def fed(data: bytes) -> None:
        reader = asyncio.StreamReader(limit=limit)
        for at in range(0, len(data), 512):
            reader.feed_data(data[at : at + 512])
        reader.feed_eof()
        with suppress(asyncio.IncompleteReadError, vty.VtyError):
            await ask(reader)

    def read(data: bytes) -> None:
        asyncio.run(fed(data))

    return read


class _Nowhere:
    """A stand-in for the other direction of a connection, which takes commands."""

    def write(self, data: bytes) -> None:
        """Discard the data."""

    async def drain(self) -> None:
        """Return at once."""


def _vty(reader: asyncio.StreamReader) -> Any:
    return vty._one(reader, _Nowhere(), Path("bgpd.vty"), "show")  # type: ignore[arg-type]


def _jumps(size: int) -> list[dict[str, Any]]:
    """Return a table whose chains jump to each other."""
    many = max(1, size // 8)
    base = {"family": "ip", "table": "t", "name": "c0", "hook": "forward", "policy": "drop"}
    found: list[dict[str, Any]] = [{"chain": base}]
    for number in range(many):
        turns: list[dict[str, Any]] = [{"jump": {"target": f"c{(number + step) % many}"}} for step in range(8)]
        match = {"op": "==", "left": {"meta": {"key": "iifname"}}, "right": {"set": ["a*"] * 8}}
        found.append({"rule": {"chain": f"c{number}", "expr": [{"match": {**match}}, *turns, {"accept": None}]}})
    return found


def _passes(objects: list[dict[str, Any]]) -> bool:
    (chain,) = chains.dropping(objects)
    return chains.passes(chain, objects, ["lan1", "lan2"])


def _ikes(size: int) -> list[dict[str, Any]]:
    child = {"state": b"INSTALLED", "uniqueid": b"1"}
    return [{"state": b"ESTABLISHED", "established": b"1", "child-sas": {"a": child}} for _ in range(size // 64)]


def _guest(text: str) -> object:
    status = guest_answer.answer("guest-exec-status", text, guest_answer.Status)
    return guest_answer.output(status, "ss")


def _printed(size: int) -> str:
    return json.dumps({"return": {"exited": True, "exitcode": 0, "out-data": base64.b64encode(b"a" * size).decode()}})


def _head(target: bytes) -> object:
    headers = [(b"x%d" % number, b"y") for number in range(len(target) // 16)]
    return request_head.refusal({"raw_path": target, "path": "/", "query_string": target, "headers": headers})


def _filter(size: int) -> Filter:
    """Return a specification with one endless component, as long as the format permits."""
    octets = b"\x03" + b"\x01\x06" * (min(size, 3900) // 2)
    return Filter(family="ipv4-flowspec", nlri=(struct.pack("!H", 0xF000 | len(octets)) + octets).hex(), actions=[])


def _objects(section: str, fields: str) -> Callable[[int], str]:
    """Return a shape of many objects with the same fields."""
    return lambda size: (
        f"{section}:\n" + "".join(f"  x{number}: {fields}\n" for number in range(size // (len(fields) + 8)))
    )


_SOCKET = "0 0 [::ffff:10.0.0.1%eth0]:5000 10.0.0.2:80 "

CASES: dict[str, list[Case]] = {
    "controller/core/json_limits.py": _all("JSON", json_limits.unfit, BODY, *_JSON),
    "controller/api/middleware/body_limits.py": _all(
        "surrogates", body_limits._half_a_pair, BODY, *_JSON, _again(b"[", rb'"\ud83d"'), _again(rb"\ud83d", b'"', b'"')
    ),
    "controller/api/middleware/request_head.py": _all(
        "target", _head, request_head.MAX_TARGET, _again(b"%2"), _again(b"/."), _again(b"%41")
    ),
    "controller/api/pages.py": _all("cursor", pages.after, DATAGRAM, _texts("YQ"), _texts("=")),
    "controller/core/audit.py": _all("body", audit.asked, BODY, *_JSON),
    "controller/core/yaml_document/document.py": _all(
        "policy",
        lambda text: document.read(text, "policy.yaml"),
        DATAGRAM,
        _texts("a: b\n"),
        lambda size: "".join(f"k{number}: [a, b]\n" for number in range(size // 12)),
        _texts("["),
        _texts("{a: "),
        _texts("- "),
        _texts("? "),
        _texts("'"),
        _texts("a", '"'),
        _texts("\\", '"'),
        _texts("&a "),
        _texts("# a\n"),
        _texts("\n", "a: |\n  b", "c"),
        _texts("a ", "a: "),
        _texts("9", "a: "),
        _texts("!"),
        _texts("%"),
    ),
    "controller/core/inventory/parse.py": _all(
        "inventory",
        lambda text: parse_inventory(f"apiVersion: weft/inventory/v1\n{text}", "inventory.yaml"),
        BODY,
        _objects("cloudlets", "{pe: vpls, vtep: 192.0.2.1}"),
        _objects("cloudlets", "{pe: vpls, vtep: here, vetp: x}"),
        _objects("endpoints", "{cloudlet: c1, prefix: 10.0.0.0/8, ports: ['a b', 'a b']}"),
        _objects("devices", "{mac: '02:00:00:00:00:01', vm: {mac: x}}"),
        _objects("vms", "{device: m1, endpoint: e, image: d, memory: 1G, macs: [x, x]}"),
        _texts("l: v, ", "cloudlets: {c1: {pe: vpls, vtep: 192.0.2.1, labels: {", "}}}"),
        _texts("eth0, ", "endpoints: {c1-lan: {cloudlet: c1, prefix: 10.1.0.0/24, ports: [", "]}}"),
    ),
    "controller/core/unified_diff.py": _all(
        "texts",
        lambda texts: unified(texts[0], texts[1], "1", "2"),
        64,
        lambda size: ("a\n" * 100 * size, "b\n" * 100 * size),
        lambda size: ("a\nb\n" * 50 * size, "b\nb\na\n" * 50 * size),
    ),
    "controller/api/access.py": _all(
        "password", access._password, DATAGRAM, _texts("YTpi"), _texts("="), _texts("\u00e9")
    ),
    "controller/auth/jwt.py": _all(
        "token",
        lambda text: jwt.header(text, ["ES256"]),
        DATAGRAM,
        _texts("."),
        _texts("e30."),
        _texts("A", after=".."),
    ),
    "controller/trust/x509.py": _all(
        "request",
        x509.read_request,
        DATAGRAM,
        _texts("-----BEGIN CERTIFICATE REQUEST-----\n"),
        _texts("A", "-----BEGIN CERTIFICATE REQUEST-----\n", "\n-----END CERTIFICATE REQUEST-----\n"),
        _texts("-"),
    ),
    "controller/core/webhooks.py": _all(
        "Retry-After",
        lambda text: webhooks.wanted(text, datetime(2030, 1, 31, tzinfo=UTC)),
        DATAGRAM,
        _texts("9"),
        _texts("Thu, "),
        _texts(" "),
        _texts("1:"),
    ),
    "controller/wire/logs.py": _all("line", logs.visible, DATAGRAM, _texts("\x1b"), _texts("\U0001f600")),
    "agents/access/specification.py": _all("filter", specification.read, 4096, _filter),
    "agents/dhcp/v4/message.py": _all(
        "options",
        dhcp.decode,
        DATAGRAM,
        _again(b"\0", _FIXED4),
        _again(b"\x0c\0", _FIXED4),
        _again(b"\x0c\1a", _FIXED4),
        _again(b"\x0c\xff" + b"a" * 255, _FIXED4),
    ),
    "agents/dhcp/v4/decision.py": _all(
        "host name",
        dhcp_decision.host_name,
        DATAGRAM,
        lambda size: dhcp.Message(
            op=1,
            xid=1,
            mac=bytes(6),
            kind=dhcp.MessageType.DISCOVER,
            options={dhcp.Option.HOST_NAME: b"a." * (size // 2) + b"!"},
        ),
    ),
    "agents/dhcp/v6/message.py": _all(
        "options",
        dhcp6.decode,
        DATAGRAM,
        _again(_option6(6, b""), b"\1abc"),
        _again(_option6(3, bytes(12)), b"\1abc"),
        _again(_option6(13, b"\0\0"), b"\1abc"),
        _association6,
    ),
    "agents/dhcp/v6/packet.py": _all(
        "packet",
        lambda data: packet6.parse(data, summed=True),
        DATAGRAM,
        _packet6,
    ),
    "agents/kernel/events.py": _all(
        "netlink",
        lambda data: events.matters(data, 7),
        DATAGRAM,
        _again(struct.pack("=IHHII", 16, 24, 0, 0, 7)),
        _again(struct.pack("=IHHII", 16, 28, 0, 0, 1)),
    ),
    "agents/mac_moves/notifications.py": _all(
        "netlink",
        lambda data: list(mac_notifications.entries(data)),
        DATAGRAM,
        _again(struct.pack("=IHHIIBxxxiHBB", 28, 28, 0, 0, 1, 7, 2, 2, 0, 0)),
        lambda size: (
            struct.pack("=IHHIIBxxxiHBB", size + 28, 28, 0, 0, 1, 7, 2, 2, 0, 0)
            + struct.pack("=HH", 4, 1) * (size // 4)
        ),
    ),
    "agents/nft/notifications.py": _all(
        "netlink",
        lambda data: list(notifications.Transactions().feed(data)),
        DATAGRAM,
        _again(struct.pack("=IHHII", 20, 10 << 8, 0, 0, 1) + bytes(4)),
        lambda size: (
            struct.pack("=IHHII", size + 20, 10 << 8, 0, 0, 1) + bytes(4) + struct.pack("=HH", 4, 1) * (size // 4)
        ),
    ),
    "agents/bgp/frr/vty.py": _all(
        "reply", _stream(_vty, vty._MAX_REPLY), BODY, _again(b"a"), _again(b"\0\0a"), _again(b"a", after=b"\0\0\0\0")
    ),
    "agents/bgp/frr/daemon.py": [
        *_all(
            "complaint",
            daemon._complaint,
            DATAGRAM,
            _texts("\x1b["),
            _texts("\x1b[1"),
            _texts("1111-a "),
            _texts("1111-a  \n"),
            _texts("\n"),
        ),
        *_all(
            "passwords",
            lambda text: daemon.sign(text, text[::-1]),
            DATAGRAM,
            _texts("neighbor "),
            _texts("neighbor a password "),
            lambda size: (
                "router bgp 1\n"
                + "".join(f"neighbor {n} remote-as 1\nneighbor {n} password x\n" for n in range(size // 50))
            ),
        ),
    ],
    "agents/host/chains.py": _all("rules", _passes, 4096, _jumps),
    "agents/answer.py": _all("JSON", lambda data: answer.document(data, BODY), BODY, *_JSON),
    "agents/hypervisors/guest_json.py": _all(
        "answer", lambda data: guest_json.guest_object(data.decode(), guest_answer.LONGEST), BODY, *_JSON
    ),
    "agents/hypervisors/qemu/guest_answer.py": _all(
        "answer", _guest, BODY, _printed, _texts("="), lambda size: _printed(size)[:-1]
    ),
    "agents/hypervisors/qemu/guest_agent.py": _all(
        "stream",
        _stream(lambda reader: guest_agent._until(reader, b"\n"), guest_answer.LONGEST),
        BODY,
        _again(b"a"),
        _again(b"\xff"),
    ),
    "agents/identity/x509.py": _all(
        "lists",
        agents_x509.revoked,
        DATAGRAM,
        _texts("-----BEGIN X509 CRL-----\n"),
        _texts("-----END X509 CRL-----\n"),
        _texts("-"),
    ),
    "agents/ipsec/credentials.py": _all(
        "PEM",
        lambda data: credentials._blocks(data, b"CERTIFICATE"),
        BODY,
        _again(b"-----BEGIN CERTIFICATE-----"),
        _again(b"-----BEGIN CERTIFICATE----------END CERTIFICATE-----"),
        _again(b"-"),
    ),
    "agents/ipsec/reasons.py": _all(
        "line", reasons.tells, DATAGRAM, _texts("no trusted "), _texts("giving up after 1"), _texts(" ")
    ),
    "agents/ipsec/association.py": _all("sections", association.association, DATAGRAM, _ikes),
    "agents/multipath/sockets.py": _all(
        "ss",
        sockets.sockets,
        DATAGRAM,
        _texts("1"),
        _texts("1 "),
        _texts("\n"),
        _texts(_SOCKET),
        _texts(f"{_SOCKET}\n"),
        _texts(":", "0 0 "),
        _texts("[", "0 0 "),
        _texts("token:(id:/", f"{_SOCKET} tcp-ulp-mptcp flags:Jj "),
        _texts("\x85"),
    ),
    "agents/multipath/options.py": _all(
        "options", options.options, DATAGRAM, _again(b"\1"), _again(b"\2\2"), _again(b"\x1e\3\x60")
    ),
    "agents/multipath/segment.py": _all(
        "frame",
        segment.segment,
        DATAGRAM,
        _again(b"\x81\0\0\1", bytes(12)),
        lambda size: _tcp(bytes(size)),
        lambda size: _tcp(b"\0\0" * size),
    ),
    "agents/neighbours/icmp.py": _all("checksum", icmp.checksum, DATAGRAM, _again(b"\xff\xff")),
    "agents/neighbours/stamp.py": _all(
        "packet", lambda data: (stamp.answer(data), stamp.reply(data, 1.0, 1.0, 64)), DATAGRAM, _again(b"\xff")
    ),
    "agents/passages/arp.py": _all(
        "frame", lambda data: arp.answer(data, "02:00:00:00:00:01"), DATAGRAM, _again(b"\xff")
    ),
    "agents/passages/discovery.py": _all(
        "frame", lambda data: discovery.answer(data, "02:00:00:00:00:01"), DATAGRAM, _again(b"\xff")
    ),
    "agents/passages/echo.py": _all(
        "frame",
        lambda data: [echo.answer(data, version, "02:00:00:00:00:01", 7) for version in (4, 6)],
        DATAGRAM,
        _again(b"\xff"),
    ),
    "agents/sightings/message.py": _all(
        "netlink",
        sighting.decode,
        DATAGRAM,
        _again(struct.pack("=IHHII", 16, 4 << 8, 0, 0, 1)),
        lambda size: (
            struct.pack("=IHHII", 20 + size // 4 * 4, 4 << 8, 0, 0, 1)
            + bytes(4)
            + struct.pack("=HH", 4, 1) * (size // 4)
        ),
    ),
}
