"""The platform of the qemu driver's machines: files by their digests, and the CPU as QEMU reports it."""

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from agents.hypervisors.hypervisor import Comparable, HypervisorError, Refused, Site
from agents.hypervisors.qemu import departure, digests
from agents.hypervisors.qemu.digests import Digests
from agents.hypervisors.qemu.hypervisor import Qemu
from agents.hypervisors.qemu.monitor import CommandRefused
from agents.hypervisors.qemu.processor import features, model, models
from agents.hypervisors.qemu.vm import Vm
from agents.hypervisors.record import Record
from controller.wire.machines import Disk, Machine
from controller.wire.moves import Target, Tuning
from controller.wire.platforms import CpuModel, Platform

MACHINE = Machine(
    name="vm1",
    driver="qemu",
    image="lab",
    memory=1 << 28,
    macs=("52:54:00:00:00:0a", "52:54:00:00:00:0b"),
    disk=Disk(base="lab", bytes=1 << 29),
)


async def test_a_file_is_read_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds even if size and modification time stay the same, as with an image that was copied together with its
    times."""
    path, read = tmp_path / "disk.qcow2", list[Any]()
    path.write_bytes(b"one" * 1000)
    whole = hashlib.file_digest

    def counted(*given: Any) -> Any:
        read.append(given)
        return whole(*given)

    monkeypatch.setattr(hashlib, "file_digest", counted)
    first = await Digests(tmp_path).of(path)
    assert first == hashlib.sha256(b"one" * 1000).hexdigest()
    assert await Digests(tmp_path).of(path) == first and len(read) == 1  # another agent's life
    before = path.stat()
    path.write_bytes(b"two" * 1000)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size and path.stat().st_mtime_ns == before.st_mtime_ns
    assert await Digests(tmp_path).of(path) == hashlib.sha256(b"two" * 1000).hexdigest()
    fresh = tmp_path / "new"
    fresh.write_bytes(b"six" * 1000)
    fresh.rename(path)
    assert await Digests(tmp_path).of(path) == hashlib.sha256(b"six" * 1000).hexdigest()
    assert len(read) == 3


@pytest.mark.parametrize("kept", ["", "[]", "{}", '{"x": 1}', '{"x": [[1], 2]}', "null"])
async def test_what_is_kept_and_cannot_be_read_is_found_out_again(tmp_path: Path, kept: str) -> None:
    (tmp_path / digests.FILE).write_text(kept)
    (tmp_path / "kernel").write_bytes(b"k")
    assert await Digests(tmp_path).of(tmp_path / "kernel") == hashlib.sha256(b"k").hexdigest()
    with pytest.raises(HypervisorError, match="cannot be read"):
        await Digests(tmp_path).of(tmp_path / "none")


def test_the_cpu_as_qemu_is_asked_for_it() -> None:
    assert model("max,-la57") == {"name": "max", "props": {"la57": False}}
    assert model("host,+x2apic,pmu=off,phys-bits=40,vendor=GenuineIntel,avx") == {
        "name": "host",
        "props": {"x2apic": True, "pmu": False, "phys-bits": 40, "vendor": "GenuineIntel", "avx": True},
    }


class Answers:
    """A session with a QEMU that has one CPU."""

    def __init__(self, expanded: dict[str, Any] | None) -> None:
        self._expanded = expanded

    async def execute(self, command: str, arguments: dict[str, Any] | None = None) -> Any:
        match command, arguments:
            case "query-cpus-fast", _:
                return [{"qom-path": "/machine/unattached/device[0]"}]
            case "qom-get", {"property": "vendor"}:
                return "AuthenticAMD"
            case "qom-get", {"property": "unavailable-features"}:
                return ["avx512f"]
            case _:
                if self._expanded is None:
                    raise CommandRefused("no such model")
                return {"model": {"name": "x", "props": self._expanded}}


async def test_what_the_host_does_not_have_no_guest_sees() -> None:
    props = {"avx512f": True, "sse4.1": True, "sse4-2": True, "sse4_2": True, "la57": False, "x-l1": True, "kvm": True}
    session: Any = Answers({**props, "family": 6})
    assert await features(session, "Skylake-Server") == ("AuthenticAMD", ["sse4-2", "sse4.1"])
    session = Answers(None)
    assert await features(session, "odd") == ("AuthenticAMD", [])


class Models:
    """A session with a QEMU that has these models, each with its features and those that are missing."""

    def __init__(self, told: list[dict[str, Any]], has: dict[str, list[str]]) -> None:
        self._told, self._has = told, has

    async def execute(self, command: str, arguments: dict[str, Any] | None = None) -> Any:
        if command == "query-cpu-definitions":
            return self._told
        assert arguments is not None and arguments["type"] == "full"
        name = arguments["model"]["name"]
        if name not in self._has:
            raise CommandRefused("no such model")
        return {"model": {"name": name, "props": dict.fromkeys(self._has[name], True)}}


async def test_the_models_that_guests_can_be_given() -> None:
    """The names are those without a version. A feature that the default removes from guests counts as missing."""
    safe = {"alias-of": "x-v1", "migration-safe": True, "deprecated": False}
    told = [
        {"name": "Old", **safe, "unavailable-features": []},
        {"name": "New", **safe, "unavailable-features": ["avx512f"]},
        {"name": "New-v1", "migration-safe": True, "unavailable-features": []},
        {"name": "max", "migration-safe": False, "unavailable-features": []},
        {"name": "Gone", **safe, "deprecated": True},
        {"name": "Odd", **safe},
    ]
    has = {"Old": ["sse2", "kvm"], "New": ["sse2", "avx512f", "la57", "sse4_1", "sse4-1", "x-l1"]}
    session: Any = Models(told, has)
    assert await models(session, "max,-la57") == {
        "Old": CpuModel(features=1, missing=[]),
        "New": CpuModel(features=4, missing=["avx512f", "la57"]),
    }
    assert (await models(session, "host"))["New"].missing == ["avx512f"]


async def test_nothing_leaves_for_another_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The move is refused before the first byte, and the machine then belongs to no move."""
    vm, site = Vm(tmp_path / "vm1"), Site("c1", tmp_path, tmp_path, "127.0.0.1")
    monkeypatch.setattr(vm, "runs", lambda: True)
    here = Platform(
        version="QEMU 10.0.2",
        board="pc-q35-10.0",
        accelerator="tcg",
        cpu="max,-la57",
        files={"lab/kernel": "a" * 64, "lab/disk.qcow2": "b" * 64},
    )
    links = {"a": True, "b": False}
    vm.save(
        Record.model_validate(
            {"machine": MACHINE, "bridge": "lan1", "mtu": 1400, "serving": "a", "links": links, "platform": here}
        )
    )
    other = here.model_copy(update={"files": here.files | {"lab/disk.qcow2": "c" * 64}})
    for there, said in ((other, "file lab/disk.qcow2: here sha256 bbbbbbbbbbbb"), (here, None), (None, None)):
        target = Target(memory=["tcp:127.0.0.1:49152"], platform=there)
        begun = departure.begin(vm, "m1", target, Tuning(), site, several=False, digests=Digests(tmp_path))
        if said is None:
            await begun
            continue
        with pytest.raises(Refused, match=said):
            await begun
        assert vm.known().move is None


def test_the_driver_can_be_compared(tmp_path: Path) -> None:
    assert isinstance(Qemu(Site("c1", tmp_path, tmp_path, "192.0.2.1")), Comparable)
