"""The loop: wanted images come one after the other, failures are tried again, and what is not wanted goes. The program
that fetches is a script here; tests/integration/test_region_images.py has the real one."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agents.controller.client import ControllerAway
from agents.images import Images, images, reporter, tries
from agents.images.fetch import Store
from controller.wire.images import ImageReport, ImageSource, ImageSources, WantedImage, WantedImages
from lab.patience import eventually

A, B = "a" * 64, "b" * 64

SCRIPT = """#!/bin/sh
shift
while [ $# -gt 1 ]; do
  case $1 in --image) image=$2 ;; --digest) digest=$2 ;; --directory) directory=$2 ;;
    --bandwidth) bandwidth=$2 ;; esac
  shift
done
echo "$image" >> "$directory/../tried"
echo "$bandwidth" >> "$directory/../limits"
[ -f "$directory/../broken" ] && { echo "weft-images: $(cat "$directory/../broken")" >&2; exit 1; }
[ -f "$directory/../slow" ] && exec sleep 60
echo '{"bytes": 5, "total": 5, "source": "registry"}'
rm -rf "$directory/$image"
mkdir -p "$directory/$image/blobs/sha256"
printf '{"manifests": [{"digest": "%s"}]}' "$digest" > "$directory/$image/index.json"
"""


class Controller:
    """A controller that knows the sources, and keeps the last report."""

    def __init__(self) -> None:
        self.digest, self.told = A, list[ImageReport]()
        self.away, self.bandwidth = False, 8_000_000

    async def images(self, report: ImageReport) -> None:
        if self.away:
            raise ControllerAway("away")
        self.told.append(report)

    async def image_sources(self, name: str) -> ImageSources:
        if self.away:
            raise ControllerAway("away")
        return ImageSources(digest=self.digest, sources=[ImageSource(registry="r.example/i", bandwidth=self.bandwidth)])

    def conditions(self) -> dict[str, str]:
        return {state.name: state.condition for state in self.told[-1].images} if self.told else {}


class Town:
    """A cloudlet's images below `folder`, and the controller."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.controller, self.used = folder, Controller(), frozenset[str]()
        self.directory = folder / "images"
        self.directory.mkdir()
        store = Store(self.directory, folder / "identity")
        self.images = Images("c1", self.controller, folder, store, 7790, lambda: self.used)

    def want(self, *names: str, digest: str = A) -> None:
        self.controller.digest = digest
        found = [WantedImage(name=name, digest=digest) for name in names]
        self.images.intend(WantedImages(cloudlet="c1", images=found))

    async def so(self, **conditions: str) -> None:
        await eventually(lambda: self.controller.conditions() == conditions, self.controller.conditions, 10)

    def tried(self) -> list[str]:
        path = self.folder / "tried"
        return path.read_text().split() if path.exists() else []


@pytest.fixture
async def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Town]:
    program = tmp_path / "bin" / "weft-images"
    program.parent.mkdir()
    program.write_text(SCRIPT)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setattr(reporter, "INTERVAL", 0.01)
    monkeypatch.setattr(images, "LOOK", 0.05)
    monkeypatch.setattr(tries, "_FIRST", 0.05)
    found = Town(tmp_path)
    work = asyncio.create_task(found.images.run())
    yield found
    work.cancel()
    await asyncio.wait((work,))
    assert work.cancelled()


async def test_images_come_and_go(town: Town) -> None:
    town.want("camera", "debian")
    await town.so(camera="there", debian="there")
    assert json.loads((town.folder / "images.json").read_text()) == {"camera": A, "debian": A}
    town.used = frozenset({"debian"})
    town.want()
    await town.so(debian="there")
    assert not (town.directory / "camera").exists() and town.tried() == ["camera", "debian"]
    town.used = frozenset()
    await eventually(lambda: not (town.directory / "debian").exists())


async def test_a_failure_is_told_and_tried_again(town: Town) -> None:
    (town.folder / "broken").write_text("no route to host")
    town.want("camera")
    await town.so(camera="failed")
    assert town.controller.told[-1].images[0].detail == "no route to host"
    (town.folder / "broken").unlink()
    await town.so(camera="there")


async def test_a_controller_that_is_away_is_asked_again(town: Town) -> None:
    town.controller.away = True
    town.want("camera")
    await asyncio.sleep(0.1)
    assert town.tried() == []
    town.controller.away = False
    await town.so(camera="there")


async def test_a_fetch_ends_when_the_image_is_not_wanted_any_more(town: Town) -> None:
    (town.folder / "slow").write_text("")
    town.want("camera")
    await town.so(camera="coming")
    (town.folder / "slow").unlink()
    town.want("debian")
    await town.so(debian="there")
    assert town.tried() == ["camera", "debian"]


async def test_a_limit_that_changes_holds_for_a_fetch_that_runs(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "LIMITS", 0.05)
    (town.folder / "slow").write_text("")
    town.want("camera")
    await eventually(lambda: town.tried() == ["camera"])
    town.controller.away = True  # which changes nothing
    await asyncio.sleep(0.2)
    town.controller.away, town.controller.bandwidth = False, 1_000_000
    await eventually(lambda: len(town.tried()) == 2)
    (town.folder / "slow").unlink()
    town.controller.bandwidth = 2_000_000
    await town.so(camera="there")
    assert (town.folder / "limits").read_text().split() == ["8000000", "1000000", "2000000"]
    assert town.controller.conditions() == {"camera": "there"}


async def test_a_new_version_waits_for_the_machines_of_the_old_one(town: Town) -> None:
    town.want("camera")
    await town.so(camera="there")
    town.used = frozenset({"camera"})
    town.want("camera", digest=B)
    await town.so(camera="refused")
    town.used = frozenset()
    await town.so(camera="there")
    assert town.controller.told[-1].images[0].digest == B


async def test_nothing_is_told_of_a_cloudlet_without_images(town: Town) -> None:
    town.want()
    await asyncio.sleep(0.2)
    assert town.controller.told == []
