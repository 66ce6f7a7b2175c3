"""Containers that move where the kernel notes which pages are written: each dump has those alone. If this machine's
kernel does not, the tests run in a guest under Debian's."""
# ruff: noqa: F401, F811 - fixtures are imported

import asyncio
import os
import sys
from pathlib import Path

import pytest

from agents.hypervisors.container.dumps import EARLIER, MEMORY
from agents.hypervisors.container.platform import tracked
from agents.hypervisors.container.rounds import Rounds
from lab.container_hosts import container_at
from lab.debian_kernel.run import run
from lab.hosts import Host, Hosts
from lab.patience import until
from tests.integration.container_hosts import (
    MIB,
    NAME,
    container_images,
    hand_over,
    hosts,
    memory,
    prepare,
    right,
    shell,
    start,
    stream,
)

pytestmark = pytest.mark.lab

GUEST = 1800.0  # seconds for all of them in the guest, whose processor is software


@pytest.fixture
def writer(hosts: Hosts) -> Hosts:
    """Two hosts, of which the first one has a container that writes into its memory."""
    if not asyncio.run(tracked()):
        pytest.skip("this kernel does not note which pages are written; the test runs under Debian's")
    start(hosts.one)
    shell(hosts.one, f"/bin/weft-work ask 127.0.0.1 memory start mib={MIB} rate=2")
    return hosts


def pages(host: Host, dump: str) -> int:
    """Return the bytes of pages of a dump."""
    return sum(path.stat().st_size for path in (host.state / NAME / dump).glob("pages-*.img"))


def test_a_dump_has_the_pages_that_were_written_since(writer: Hosts) -> None:
    rounds = Rounds(container_at(writer.one, NAME))
    names = [writer.one.do(rounds.dump(tracked=True, memory=not number)) for number in range(3)]
    names.append(writer.one.do(rounds.dump(last=True)))
    assert names == [*EARLIER[:3], MEMORY]
    whole, *later = [pages(writer.one, name) for name in names]
    assert whole > MIB << 20 and max(later) < whole / 4, later
    right(writer.one)


def test_a_container_moves_by_what_it_writes(writer: Hosts, tmp_path: Path) -> None:
    one, two = writer.one, writer.two
    device = stream(writer, tmp_path)
    until(lambda: len(device.series()) > 50, "data flows", 60)
    for number, (here, there) in enumerate([(one, two), (two, one)]):
        figures = memory(here, f"m{number}", prepare(there, f"m{number}"))
        assert figures.rounds is not None and figures.rounds > 1 and figures.dirty_rate
        assert [(there.state / NAME / name).is_dir() for name in (*EARLIER[:2], MEMORY)] == [True, True, False]
        hand_over(here, there, f"m{number}")
        right(there)
        assert not list(there.state.glob(f"{NAME}/{MEMORY}*"))
    assert device.verdict().intact


def test_a_dump_that_went_nowhere_costs_no_page(writer: Hosts) -> None:
    """CRIU clears the kernel's notes in every dump: the next one must not build on those before."""
    one, two = writer.one, writer.two
    memory(one, "m1", prepare(two, "m1"))
    one.do(Rounds(container_at(one, NAME)).dump(last=True))
    shell(one, "sleep 2")  # in which it writes
    hand_over(one, two, "m1")
    right(two)


def test_all_of_them_pass_under_debians_kernel(container_images: Path) -> None:
    if asyncio.run(tracked()):
        pytest.skip("this kernel notes which pages are written by itself")
    own = ["-k", "not debians_kernel", "-p", "no:cacheprovider", "-q", "-rs"]
    environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    ended = run([sys.executable, "-m", "pytest", *own, __file__], environment | {"HOME": "/root"}, GUEST)
    assert ended.code == 0 and "skipped" not in ended.output, ended.output
