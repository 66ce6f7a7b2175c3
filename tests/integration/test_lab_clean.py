"""The lab leaves nothing behind: after `down`, after Ctrl-C, after kill -9 of the builder half-way, or with a lost
record."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab import netns
from lab.cleanup import inhabitants
from lab.errors import LabError
from lab.lock import LabLock
from lab.paths import ENV, LAB, LOCK, ROOT, RUN, STATE
from lab.region import Region
from lab.state import runs, start_time
from lab.topology import load
from lab.underlay import nodes

pytestmark = pytest.mark.lab

TOPOLOGY = ROOT / "lab" / "topologies" / "small.yaml"
NAMES = {netns.PREFIX + node for node in nodes(load(TOPOLOGY))}
BUILDER = (
    "import sys; from pathlib import Path; from lab.region import Region; Region.load(Path(sys.argv[1])).up(print, 600)"
)


@dataclass(frozen=True)
class Outside:
    """The settings of this machine that the lab must not change."""

    links: str
    nftables: str
    sysctls: str

    @classmethod
    def now(cls) -> "Outside":
        def run(*argv: str) -> str:
            return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

        keys = ("net.ipv4.ip_forward", "net.ipv4.conf.all.rp_filter", "net.ipv6.conf.all.disable_ipv6")
        return cls(run("ip", "-br", "link"), run("nft", "list", "tables"), run("sysctl", *keys))


def assert_clean(outside: Outside, lived: dict[int, int]) -> None:
    there = {path.name for path in netns.RUN.glob(f"{netns.PREFIX}*")} & NAMES
    assert not there, "namespaces"
    assert netns.marked() == []
    assert [pid for pid, start in lived.items() if runs(pid, start)] == [], "processes"
    mounts = Path("/proc/mounts").read_text()
    assert not [name for name in NAMES if f"/{name} " in mounts], "mounts"
    assert "weft-lab" not in mounts
    assert not [path for path in (RUN, LOCK, ENV, STATE) if path.exists()], "files"
    assert [path for path in LAB.rglob("*") if path.is_file() and path.suffix != ".log"] == [], "only logs stay"
    assert Outside.now() == outside


def living() -> dict[int, int]:
    """Return the processes in the lab's namespaces with their start times."""
    return {pid: start_time(pid) for pid in inhabitants(NAMES)}


@pytest.fixture
def outside() -> Iterator[Outside]:
    lock = LabLock()
    lock.acquire(600)
    lock.release()
    if running := Region.running():
        pytest.fail(f"a lab is up ({running.topology.path}); weft-lab down removes it")
    yield Outside.now()
    Region.remove(lambda _: None, 60)


def build_until(line: str) -> "subprocess.Popen[str]":
    """Start a process that builds the lab; return when it prints a line that begins with `line`."""
    argv = [sys.executable, "-u", "-c", BUILDER, str(TOPOLOGY)]
    builder = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert builder.stdout
    seen = []
    for said in builder.stdout:
        seen.append(said)
        if said.startswith(line):
            return builder
    builder.wait()
    builder.stdout.close()
    raise AssertionError(f"the builder never said '{line}' but: {''.join(seen)}")


def end(builder: "subprocess.Popen[str]", number: int) -> int:
    os.kill(builder.pid, number)
    try:
        builder.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        builder.kill()  # it would keep the lab's lock
        builder.communicate()
        raise
    return builder.returncode


@pytest.mark.smoke
def test_up_twice_then_down(outside: Outside) -> None:
    told: list[str] = []
    region = Region.load(TOPOLOGY)
    region.up(told.append, 600)
    lived = living()
    assert {row["state"] for row in region.status()} == {"running"}
    assert {row["pid"] for row in region.status()} <= set(lived)
    assert {name for name in NAMES if (netns.RUN / name).exists()} == NAMES
    again = Region.load(TOPOLOGY)
    again.up(told.append)
    assert told[-1] == "the lab is up already"
    assert again.status()[0]["pid"] == region.status()[0]["pid"]
    with pytest.raises(LabError, match="another lab is up"):
        Region.load(TOPOLOGY.with_name("demo.yaml")).up(told.append)
    assert Outside.now() == outside
    region.down(told.append)
    assert_clean(outside, lived)
    region.down(told.append)
    assert Region.running() is None


@pytest.mark.parametrize("line", ["route servers", "waiting for", "DHCP"])
def test_builder_killed_half_way(outside: Outside, line: str) -> None:
    builder = build_until(line)
    end(builder, signal.SIGKILL)
    lived = living()
    assert lived, "nothing was running yet"
    Region.remove(lambda _: None)
    assert_clean(outside, lived)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_builder_interrupted(outside: Outside, number: int) -> None:
    builder = build_until("enrolling")
    lived = living()
    assert end(builder, number) != 0
    assert_clean(outside, lived)


def test_record_lost(outside: Outside) -> None:
    builder = build_until("enrolling")
    end(builder, signal.SIGKILL)
    lived = living()
    STATE.unlink()
    Region.remove(lambda _: None)
    assert_clean(outside, lived)


def test_record_damaged_and_what_is_not_ours_stays(outside: Outside) -> None:
    foreign = f"{netns.PREFIX}foreign-test"
    subprocess.run(["ip", "netns", "add", foreign], check=True)
    try:
        builder = build_until("route servers")
        end(builder, signal.SIGKILL)
        lived = living()
        STATE.write_text("{")
        Region.remove(lambda _: None)
        assert_clean(outside, lived)
        assert (netns.RUN / foreign).exists()
    finally:
        netns.remove([foreign])
