"""The command line of a fetch, its progress, and its ends."""

import asyncio
import os
from pathlib import Path

import pytest

from agents.images.fetch import Outcome, Progress, Store, command, fetch
from controller.wire.images import ImageSource, WantedImage
from lab.patience import eventually

IMAGE = WantedImage(name="camera", digest="a" * 64)


def store(folder: Path, *, known: bool = True, most: int | None = None) -> Store:
    if known:
        (folder / "certificate.pem").write_text("")
    return Store(folder / "images", folder, most)


def test_sources_keep_their_order_and_the_lowest_limit_counts(tmp_path: Path) -> None:
    sources = [
        ImageSource(cloudlet="c2", address="192.0.2.2:7790", bandwidth=5_000_000),
        ImageSource(cloudlet="c3", address="[2001:db8::3]:7790", bandwidth=9_000_000),
        ImageSource(registry="http://r.example:5000/camera"),
    ]
    words = " ".join(command(store(tmp_path), IMAGE, sources, None, replace=False))
    assert (
        "--from c2=192.0.2.2:7790 --from c3=[2001:db8::3]:7790 --registry r.example:5000/camera --plain-http" in words
    )
    assert words.endswith("--bandwidth 5000000")
    assert command(store(tmp_path), IMAGE, sources, -5, replace=True)[-3:] == ["--most", "0", "--replace"]


def test_without_a_certificate_only_the_registry_is_asked(tmp_path: Path) -> None:
    sources = [ImageSource(cloudlet="c2", address="192.0.2.2:7790"), ImageSource(registry="r.example/camera")]
    stranger = store(tmp_path, known=False)
    assert stranger.usable(sources[:1]) == [] and stranger.usable(sources) == sources[1:]
    words = command(stranger, IMAGE, stranger.usable(sources), None, replace=False)
    assert "--from" not in words and "--identity" not in words and "--plain-http" not in words
    assert "r.example/camera" in words


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ("exit 0", Outcome(True)),
        ("echo noise >&2; echo 'weft-images: no route' >&2; exit 1", Outcome(False, "no route")),
        ("echo 'weft-images: over\x1b quota' >&2; exit 3", Outcome(False, "over  quota", final=True)),
        ("exit 1", Outcome(False, "weft-images has ended with 1")),
        ("head -c 1000000 /dev/zero >&2; exit 1", None),
    ],
)
async def test_the_end_of_a_fetch(script: str, outcome: Outcome | None) -> None:
    found = await fetch(["sh", "-c", script], 10.0, lambda _: None)
    assert found == outcome if outcome is not None else not found.there


async def test_progress_is_told_and_what_is_no_progress_is_passed_over() -> None:
    heard: list[Progress] = []
    script = 'echo \'{"bytes": 1, "total": 2, "source": "c2"}\'; echo nonsense; echo \'{"bytes": "x", "total": 2}\''
    assert (await fetch(["sh", "-c", script], 10.0, heard.append)).there
    assert heard == [{"bytes": 1, "total": 2, "source": "c2"}]


async def test_a_program_that_is_not_there() -> None:
    assert "weft-nothing cannot be started" in (await fetch(["weft-nothing"], 1.0, lambda _: None)).reason


@pytest.mark.parametrize("cancelled", [True, False])
async def test_neither_time_nor_a_cancellation_leaves_a_process(tmp_path: Path, cancelled: bool) -> None:
    pid = tmp_path / "pid"
    script = f"echo $$ > {pid}.new; mv {pid}.new {pid}; trap 'exit 1' TERM; while :; do sleep 0.05; done"
    work = asyncio.create_task(fetch(["sh", "-c", script], 60.0 if cancelled else 1.0, lambda _: None))
    await eventually(pid.exists)
    if cancelled:
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    else:
        assert await work == Outcome(False)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
