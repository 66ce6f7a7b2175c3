"""`weft-agent check`: each result says what is there, what follows, and what to do."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from agents.check import Outcome, controllers, daemons, path_mtu
from agents.check.ports import Port, held, wanted
from agents.settings import Settings
from controller.wire.checks import failed, ok, text, warning

BGP = Port("tcp", 179, frozenset({"gobgpd", "bgpd"}), "BGP")
NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


def settings(folder: Path, **more: object) -> Settings:
    given = {"cloudlet": "c1", "controller": "http://127.0.0.1:1", "token_file": folder / "token"}
    return Settings.model_validate(given | {"state_dir": folder} | more)


def test_results_are_a_table_or_a_document() -> None:
    results = [ok("kernel: VXLAN", "there"), failed("ports", "UDP 67 belongs to dnsmasq", "stop it")]
    assert text(results, "table").splitlines() == [
        "✓ kernel: VXLAN  there",
        "✗ ports          UDP 67 belongs to dnsmasq",
        "                 → stop it",
    ]
    assert json.loads(text(results, "json"))[1]["outcome"] == "failed"


@pytest.mark.parametrize(
    ("line", "others"),
    [
        ('LISTEN 0 128 0.0.0.0:179 0.0.0.0:* users:(("bird",pid=7,fd=3))', {"bird"}),
        ('LISTEN 0 128 [::]:179 [::]:* users:(("bgpd",pid=7,fd=3),("bird",pid=8,fd=3))', {"bird"}),
        ('LISTEN 0 128 *:179 *:* users:(("gobgpd",pid=7,fd=3))', set()),
        ('LISTEN 0 128 127.0.0.1:179 0.0.0.0:* users:(("bird",pid=7,fd=3))', set()),
        ("LISTEN 0 128 0.0.0.0:179 0.0.0.0:*", {"another program"}),
        ("", set()),
        ("no such line", set()),
    ],
)
def test_a_port_of_every_interface_is_in_the_way(line: str, others: set[str]) -> None:
    assert held(line, BGP) == others


def test_ports_follow_the_settings(tmp_path: Path) -> None:
    plain = {port.number for port in wanted(settings(tmp_path))}
    assert plain == {67, 547, 862, 179, 7790}
    encrypted = {port.number for port in wanted(settings(tmp_path, ipsec={}, images={"port": 0}))}
    assert encrypted == {67, 547, 862, 179, 500, 4500}


@pytest.fixture
def gobgpd(tmp_path: Path) -> Iterator[str]:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "api.sock"))
        server.listen()
        yield f"unix://{tmp_path}/api.sock"


def test_a_speaker_is_one_that_answers(tmp_path: Path, gobgpd: str) -> None:
    none = {"frr": {"vty_dir": tmp_path}}
    assert daemons.speaker(settings(tmp_path, gobgp={"api": gobgpd}, **none)).outcome is Outcome.OK
    away = daemons.speaker(settings(tmp_path, gobgp={"api": f"unix://{tmp_path}/none"}, **none))
    assert away.outcome is Outcome.FAILED and "weft-gobgpd" in away.remedy


async def test_a_hypervisor_that_is_not_there_is_named(tmp_path: Path) -> None:
    results = await daemons.results(settings(tmp_path, hypervisors={"nothing": {}}))
    assert results[-1].subject == "hypervisor nothing" and results[-1].outcome is Outcome.FAILED
    assert "there is no hypervisor driver nothing" in results[-1].said


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("mtu", [576, 1280, 1422, 1499, 1500, 1501, 4000, 9000, 9216])
async def test_the_mtu_is_found(mtu: int, told: bool) -> None:
    """By halving, or at once where a router on the way tells it."""
    asked: list[int] = []

    async def probe(size: int) -> int:
        asked.append(size)
        return size if size <= mtu else (mtu if told else size - 1)

    assert await path_mtu.largest(probe) == mtu
    assert len(asked) < 16


async def test_a_way_without_answers_has_no_mtu() -> None:
    async def probe(size: int) -> int:
        return size - 1

    assert await path_mtu.largest(probe) is None


@pytest.mark.parametrize(
    ("seconds", "outcome"), [(0, Outcome.OK), (-2, Outcome.OK), (30, Outcome.WARNING), (-61, Outcome.FAILED)]
)
def test_clocks_are_compared(seconds: int, outcome: Outcome) -> None:
    assert controllers.clock(NOW + timedelta(seconds=seconds), NOW).outcome is outcome


def test_a_controller_without_a_clock_is_a_warning() -> None:
    assert controllers.clock(None, NOW).outcome is Outcome.WARNING


@asynccontextmanager
async def answering(status: str, date: str) -> AsyncIterator[str]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b'{"title": "Not found", "detail": "this controller issues no certificates"}'
        head = f"HTTP/1.1 {status}\r\nDate: {date}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_controller_that_answers(tmp_path: Path) -> None:
    async with answering("404 Not Found", format_datetime(datetime.now(UTC), usegmt=True)) as url:
        reached, clock = await controllers.results(settings(tmp_path, controller=url))
    assert reached == warning(reached.subject, "answers, in the clear", reached.remedy)
    assert clock.outcome is Outcome.OK


async def test_a_controller_without_a_date(tmp_path: Path) -> None:
    async with answering("404 Not Found", "soon") as url:
        _, clock = await controllers.results(settings(tmp_path, controller=url))
    assert clock.outcome is Outcome.WARNING


async def test_a_controller_that_is_away_or_refuses(tmp_path: Path) -> None:
    [away] = await controllers.results(settings(tmp_path))
    assert away.outcome is Outcome.FAILED and "does not answer" in away.said
    async with answering("403 Forbidden", "") as url:
        [refused] = await controllers.results(settings(tmp_path, controller=url))
    assert refused.outcome is Outcome.FAILED and "403" in refused.said
