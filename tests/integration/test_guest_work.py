"""The load for guests: it reports no error for correct data, and finds all data that was spoiled on purpose."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import netns, work
from lab.errors import LabError
from lab.guests.build import build
from lab.patience import until
from tests.integration import guest_lan

pytestmark = pytest.mark.lab

SPACE, HOST = f"{netns.PREFIX}guest-work", "127.0.0.1"


@pytest.fixture(scope="module")
def server() -> Iterator[None]:
    build()
    netns.remove([SPACE])
    netns.create([SPACE], guest_lan.MARK)
    started = netns.execute(SPACE, ["sh", "-c", f"{work.PROGRAM} serve >/dev/null 2>&1 & echo $!"], check=True)
    try:
        until(lambda: netns.execute(SPACE, [str(work.PROGRAM), "ask", HOST, "ping"]).returncode == 0)
        yield
    finally:
        os.kill(int(started.stdout), 9)
        netns.remove([SPACE])


def test_stream(server: None, tmp_path: Path) -> None:
    stream = work.Stream(SPACE, HOST, tmp_path / "series", down=2_500_000, up=500_000)
    until(lambda: len(stream.series()) > 50)
    seen = stream.series()
    verdict = stream.verdict()
    assert verdict.intact
    assert verdict.mptcp
    assert verdict.subflows == 1
    assert 0.9 < 2_500_000 * verdict.seconds / verdict.device.received < 1.5
    assert verdict.guest is not None
    assert verdict.guest.received > 0
    assert seen == stream.series()[: len(seen)]
    # The last bytes are the guest's verdict, and no part of what it sent.
    assert 0 <= sum(count for _, count in stream.series()) - verdict.device.received <= 256


@pytest.mark.parametrize(("word", "position"), [("flip_down", 123_456), ("flip_up", 7)])
def test_stream_with_a_spoiled_byte(server: None, tmp_path: Path, word: str, position: int) -> None:
    stream = work.Stream(SPACE, HOST, tmp_path / "s", down=2e6, up=2e6, seconds=0.5, **{word: position})
    until(lambda: not stream.runs)
    verdict = stream.verdict()
    assert not verdict.intact
    assert verdict.guest is not None
    spoiled, whole = (verdict.device, verdict.guest) if word == "flip_down" else (verdict.guest, verdict.device)
    assert (spoiled.wrong, spoiled.first_wrong) == (1, position)
    assert (whole.wrong, whole.first_wrong) == (0, None)


def test_stream_that_stalls(server: None, tmp_path: Path) -> None:
    stream = work.Stream(SPACE, HOST, tmp_path / "series", down=2_500_000)
    until(lambda: len(stream.series()) > 20)
    netns.execute(SPACE, ["ip", "link", "set", "lo", "down"], check=True)
    time.sleep(0.6)
    netns.execute(SPACE, ["ip", "link", "set", "lo", "up"], check=True)
    time.sleep(1.5)
    verdict = stream.verdict()
    assert verdict.intact
    assert 0.5 < verdict.device.gap < 3


def test_stream_whose_guest_dies(tmp_path: Path) -> None:
    space = f"{SPACE}-dies"
    netns.remove([space])
    netns.create([space], guest_lan.MARK)
    try:
        pid = int(netns.execute(space, ["sh", "-c", f"{work.PROGRAM} serve >/dev/null 2>&1 & echo $!"]).stdout)
        until(lambda: netns.execute(space, [str(work.PROGRAM), "ask", HOST, "ping"]).returncode == 0)
        stream = work.Stream(space, HOST, tmp_path / "series", down=2_500_000)
        until(lambda: len(stream.series()) > 5)
        os.kill(pid, 9)
        time.sleep(0.2)
        verdict = stream.verdict()
        assert verdict.error is not None
        assert verdict.guest is None
        assert not verdict.intact
        with pytest.raises(LabError, match="refused"):
            work.ask(space, HOST, ["ping"])
    finally:
        netns.remove([space])


def test_echo(server: None, tmp_path: Path) -> None:
    echo = work.Echo(SPACE, HOST, tmp_path / "series", interval=0.01, bytes=200)
    until(lambda: len(echo.series()) > 20)
    netns.execute(SPACE, ["ip", "link", "set", "lo", "down"], check=True)
    time.sleep(0.5)
    netns.execute(SPACE, ["ip", "link", "set", "lo", "up"], check=True)
    before = len(echo.series())
    until(lambda: len(echo.series()) > before + 20)
    verdict = echo.verdict()
    assert verdict.error is None
    assert verdict.wrong == 0
    assert verdict.requests == len(echo.series())
    assert 0.4 < verdict.longest < 3
    assert verdict.longest == pytest.approx(max(took for _, took in echo.series()), abs=1e-4)
    assert verdict.median < 0.1


@pytest.mark.parametrize("kind", ["memory", "disk"])
def test_memory_and_disk(server: None, tmp_path: Path, kind: str) -> None:
    where = [f"path={tmp_path / 'file'}"] if kind == "disk" else []
    work.ask(SPACE, HOST, [kind, "start", "mib=8", "rate=4", *where])
    try:
        until(lambda: work.ask(SPACE, HOST, [kind, "verdict"])["written"] > 2300)
        told = work.ask(SPACE, HOST, [kind, "verdict"])
        assert told["wrong"] == 0
        assert told["checked"] >= 2048
        work.ask(SPACE, HOST, [kind, "flip"])
        assert work.ask(SPACE, HOST, [kind, "verdict"])["wrong"] >= 1
    finally:
        work.ask(SPACE, HOST, [kind, "stop"])
    with pytest.raises(LabError, match="what is that"):
        work.ask(SPACE, HOST, [kind, "verdict"])
