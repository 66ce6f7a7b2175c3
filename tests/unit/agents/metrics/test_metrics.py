"""The file of metrics is whole, readable by all, and written anew; the agent counts what happens."""

import asyncio
import logging
import os
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import cast

import pytest

from agents import child
from agents.dhcp.v4 import DhcpServer
from agents.dhcp.v4.message import Message, MessageType, Option, encode
from agents.dhcp.v4.settings import LanSettings
from agents.images.fetch import Store
from agents.images.server import Server
from agents.leases.book import Book
from agents.metrics import Metrics, Seen, metrics
from agents.moves.journal import Journal
from agents.neighbours.neighbours import Neighbours
from agents.neighbours.samples import Round
from agents.nft import Dropped, Nft, NftError
from controller.wire.delegations import Block, Client
from controller.wire.moves import Order, Progress
from lab.patience import eventually
from tests.unit.agents.dhcp.test_dual_stack import Plan
from tests.unit.agents.moves.region import MACHINE


class Counters:
    """nftables' counters."""

    def __init__(self, *found: Dropped) -> None:
        self.found, self.broken = found, False

    async def counters(self, *tables: str) -> Sequence[Dropped]:
        if self.broken:
            raise NftError("nft: not found; install nftables")
        return self.found


def made(path: Path | None, counters: Counters) -> Metrics:
    seen = Seen(connected=True, report=None, leases={"c1-lan": 2}, helpers={}, endpoints={"lan1": "c1-lan"})
    return Metrics("c1", "1.4.0", path, cast(Nft, counters), ("t",), lambda: seen)


async def test_the_file_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "INTERVAL", 0.01)
    path = tmp_path / "weft.prom"
    found = made(
        path, Counters(Dropped("lan1", "dhcp-at", 7, 1), Dropped("lan1", "dhcp-at", 1, 1), Dropped("x", "y", 3, 1))
    )
    before = os.umask(0o077)
    try:
        task = asyncio.create_task(found.run())
        await eventually(path.exists)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o644
    text = path.read_text()
    assert 'weft_agent_frames_refused_total{cloudlet="c1",endpoint="c1-lan",reason="dhcp-at"} 8.0' in text
    assert 'weft_agent_frames_refused_total{cloudlet="c1",endpoint="",reason="x.y"} 3.0' in text
    first = path.stat().st_ino
    await eventually(lambda: path.stat().st_ino != first)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert [one.name for one in tmp_path.iterdir()] == ["weft.prom"]


async def test_what_cannot_be_written_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(metrics, "INTERVAL", 0.01)
    counters, folder = Counters(), tmp_path / "later"
    found = made(folder / "weft.prom", counters)
    with caplog.at_level(logging.WARNING):
        task = asyncio.create_task(found.run())
        await eventually(lambda: "metrics are not written" in caplog.text)
        folder.mkdir()
        await eventually((folder / "weft.prom").exists)
        counters.broken = True
        await eventually(lambda: "install nftables" in caplog.text)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert len(caplog.records) == 2


async def test_without_a_file_there_is_nothing_to_do() -> None:
    await made(None, Counters()).run()


async def test_messages_of_dhcp_are_counted() -> None:
    counted: list[tuple[str, str]] = []
    lan = LanSettings(IPv4Address("10.1.0.1"), IPv4Network("10.1.0.0/24"), 1450)
    server = DhcpServer("e1", "lan1", lan, Plan(), counted=lambda way, kind: counted.append((way, kind)))
    discover = Message(op=1, xid=7, mac=bytes.fromhex("02005e000001"), kind=MessageType.DISCOVER, options={})
    server.datagram_received(encode(discover), ("0.0.0.0", 68))
    server.datagram_received(b"nonsense", ("0.0.0.0", 68))
    await eventually(lambda: len(counted) == 2)
    assert counted == [("in", "discover"), ("out", "offer")]
    inform = Message(op=1, xid=8, mac=discover.mac, kind=MessageType.DECLINE, options={Option.HOST_NAME: b"x"})
    server.datagram_received(encode(inform), ("0.0.0.0", 68))
    await server.stop()
    assert counted[2:] == [("in", "decline")]


async def test_each_order_of_a_move_is_counted_once(tmp_path: Path) -> None:
    counted: list[Progress] = []
    journal = Journal(tmp_path, "c1", counted.append)
    order = Order(move="m1", number=3, act="memory", machine=MACHINE, endpoint="c1-lan")
    await journal.taken(order)
    outcome = Progress(move="m1", number=3, act="memory", state="failed")
    await journal.ended(outcome)
    await journal.ended(outcome, told=True)
    await journal.ended(outcome.model_copy(update={"number": 9}))
    assert counted == [outcome]


async def test_a_server_of_images_that_ends_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ends(*_: object) -> int:
        return 1

    monkeypatch.setattr(child, "follow", ends)
    counted: list[str] = []
    (tmp_path / "certificate.pem").touch()
    server = Server(Store(tmp_path, tmp_path), 7790, counted.append)
    server.intend("192.0.2.1")
    task = asyncio.create_task(server.run())
    await eventually(lambda: counted == ["weft-images"])
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_echoes_of_neighbours_are_counted() -> None:
    counted: list[tuple[int, int]] = []

    class Controller:
        async def neighbours(self, report: object) -> None:
            """Take it."""

    neighbours = Neighbours("c1", Controller(), lambda sent, received: counted.append((sent, received)))  # type: ignore[arg-type]
    neighbours._found("c2", Round("icmp", 5, 4, 1.0, 1.0, 1.0, 0.0), False)
    assert counted == [(5, 4)]


def test_leases_that_are_held() -> None:
    book = Book()
    book.seconds = book.longest = 600
    book.room.add([Block(number=0, first=0, pairs=8)], ())
    for number in range(3):
        client = Client(mac=f"02:00:5e:00:00:{number:02x}")
        offered = book.offer(client, None, 1000.0)
        assert offered is not None and book.grant(client, None, offered[:2], False, 1000.0) is not None
    assert book.held(1001.0) == 3 and book.held(1601.0) == 0
