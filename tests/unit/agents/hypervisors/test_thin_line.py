"""The session of weft-transfer that a move gets, and the driver's door to that program."""

from dataclasses import replace
from pathlib import Path

import pytest

from agents.hypervisors import weft_transfer
from agents.hypervisors.hypervisor import HypervisorError, Refused, Site
from agents.hypervisors.qemu import thin_line
from agents.hypervisors.qemu.source import Source
from agents.hypervisors.qemu.vm import Vm
from agents.hypervisors.record import Move, Record
from agents.hypervisors.target import HostPort
from agents.hypervisors.weft_transfer import Session, Status, WeftTransfer
from controller.wire.machines import Disk, Machine
from controller.wire.moves import Figures, Keep, Pages, Target, Tuning
from controller.wire.platforms import Platform

PLACE = HostPort("192.0.2.2", 49152)
BASE, KERNEL = "b" * 64, "c" * 64
PLATFORM = Platform(
    version="QEMU 10",
    board="pc-q35-10.0",
    accelerator="tcg",
    cpu="max",
    files={"debian/disk.qcow2": BASE, "debian/kernel": KERNEL},
)

MACHINE = Machine(
    name="vm1", driver="qemu", image="debian", memory=1 << 28, macs=("02:00:00:00:00:01", "02:00:00:00:00:02")
)


def site(folder: Path) -> Site:
    return Site("c1", folder / "state", folder / "images", "192.0.2.1", identity=folder / "identity")


def status(**changes: object) -> Status:
    found: Status = {
        "phase": "streaming",
        "error": "",
        "stream": 0,
        "wire": 0,
        "backlog": 0,
        "bandwidth": 0.0,
        "repeated": 0.0,
        "wrong": 0,
        "processor": 0.0,
        "kept": False,
        "pages": {},
    }
    return found | changes  # type: ignore[return-value]


def outgoing(folder: Path, **changes: object) -> Session:
    move = Move(name="m1", role="outgoing", target=Target(memory=[f"tcp:{PLACE}"]), peer="c2")
    return thin_line.session(site(folder), record(), move.model_copy(update=changes), PLACE, multipath=True)


def record(disk: Disk | None = None) -> Record:
    machine = MACHINE.model_copy(update={"disk": disk})
    return Record(machine=machine, bridge="lan1", mtu=1400, serving="a", links={}, platform=PLATFORM)


def test_only_the_disk_of_the_image_is_a_reference(tmp_path: Path) -> None:
    """A kernel and an initramfs are compressed files: a guest's memory has none of their pages."""
    words = outgoing(tmp_path).options()
    assert words.count("--reference") == 1
    assert f"{BASE}:{tmp_path / 'images' / 'debian/disk.qcow2'}" in words
    assert "--multipath" in words and words[:2] == ["--move", "m1"]


def test_the_disk_has_a_session_and_a_mirror_of_its_own(tmp_path: Path) -> None:
    """Its blocks are those of the image's disk, and of no memory."""
    folder = tmp_path / "images" / "debian"
    folder.mkdir(parents=True)
    (folder / f"memory.{'a' * 64}").touch()
    move = Move(name="m1", role="outgoing", tuning=Tuning(bandwidth=5_000_000, keep=Keep(seconds=60, bytes=1 << 30)))
    kept = record(Disk(base="debian", bytes=1 << 30))
    memory, disk = (one(site(tmp_path), kept, move, PLACE, False) for one in (thin_line.session, thin_line.disk))
    words = disk.options()
    assert words[:2] == ["--move", "m1/disk"] and "--keep" in words and disk.bandwidth == 5_000_000
    assert words[words.index("--disk") + 1] == str(1 << 30) and "--disk" not in memory.options()
    assert [digest for digest, _ in disk.references] == [BASE] and len(memory.references) == 2
    assert disk.mirror.parent == memory.mirror.parent and disk.mirror != memory.mirror


def test_base_memories_of_the_image_are_references(tmp_path: Path) -> None:
    folder = tmp_path / "images" / "debian"
    folder.mkdir(parents=True)
    for name in (f"memory.{'a' * 64}", f"memory.{'d' * 64}", "memory.old", f"memory.{'e' * 64}.part", "kernel"):
        (folder / name).touch()
    words = outgoing(tmp_path).options()
    named = [words[at + 1].partition(":")[0] for at, word in enumerate(words) if word == "--reference"]
    assert named == [BASE, "a" * 64, "d" * 64]


def test_ends_authenticate_each_other_if_the_cloudlet_has_a_certificate(tmp_path: Path) -> None:
    assert "--clear" in outgoing(tmp_path).options()
    (tmp_path / "identity").mkdir()
    (tmp_path / "identity" / "certificate.pem").touch()
    words = outgoing(tmp_path).options()
    assert "--clear" not in words
    assert words[words.index("--peer") + 1] == "c2"
    assert words[words.index("--identity") + 1] == str(tmp_path / "identity")


def test_a_certificate_without_a_peer_is_no_reason_to_go_in_the_clear(tmp_path: Path) -> None:
    (tmp_path / "identity").mkdir()
    (tmp_path / "identity" / "certificate.pem").touch()
    with pytest.raises(HypervisorError, match="which cloudlet is at the other end of move m1"):
        outgoing(tmp_path, peer=None)


def test_the_policys_bandwidth_is_the_lines(tmp_path: Path) -> None:
    assert outgoing(tmp_path, tuning=Tuning(bandwidth=5_000_000)).bandwidth == 5_000_000


def test_a_mirror_stays_only_if_the_policy_says_so(tmp_path: Path) -> None:
    gone, kept = outgoing(tmp_path), outgoing(tmp_path, tuning=Tuning(keep=Keep(seconds=60, bytes=1 << 30)))
    assert "--keep" not in gone.options() and "--keep" in kept.options()
    assert gone.mirror == tmp_path / "state" / "vm1" / "transfer.mirror", "it is deleted with the machine's folder"
    assert (tmp_path / "state" / "vm1") not in kept.mirror.parents


def test_the_policy_limits_both_mirrors(tmp_path: Path) -> None:
    assert "--mirror-bytes" not in outgoing(tmp_path).options()
    words = outgoing(tmp_path, tuning=Tuning(mirror=1 << 20)).options()
    assert words[words.index("--mirror-bytes") + 1] == str(1 << 20)


def test_what_was_saved_by_what_is_told() -> None:
    pages = {"zero": 1, "same": 2, "copy": 3, "delta": 4, "literal": 5, "bytes": 6, "block": 7}
    found = Figures().model_copy(update=weft_transfer.figures(status(wire=8, pages=pages, wrong=9, kept=True)))
    told = Figures.model_validate_json(found.model_dump_json())
    assert told.wire == 8
    assert told.pages == Pages(zero=1, same=2, known=3, delta=4, literal=5, repeats=9, kept=True)
    assert "pages" not in Figures(wire=8).model_dump(), "a controller of an older release does not know it"


def test_pages_count_for_what_such_pages_have_cost() -> None:
    assert thin_line.left(4096 * 100, status(repeated=1000.0, backlog=50_000)) == 150_000
    assert thin_line.left(4096 * 100, status(repeated=2.5)) == 250
    assert thin_line.left(0, status(repeated=4096.0)) == 0


async def test_a_program_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "vm1").mkdir()
    with pytest.raises(Refused, match="weft-transfer is not installed; the option 'compression' asks for it"):
        await WeftTransfer(tmp_path / "vm1").receive(Session("m1", PLACE, tmp_path / "mirror"))


async def test_a_program_that_ends_at_once_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "weft-transfer"
    program.write_text("#!/bin/sh\necho 'weft-transfer: --colour is no option'\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (tmp_path / "vm1").mkdir()
    with pytest.raises(HypervisorError, match="vm1: weft-transfer: --colour is no option"):
        await WeftTransfer(tmp_path / "vm1").receive(Session("m1", PLACE, tmp_path / "mirror"))


@pytest.mark.parametrize("text", ["", "{", '{"phase": "over"}'])
async def test_a_switchover_does_not_fail_for_a_figure(tmp_path: Path, text: str) -> None:
    vm = Vm(tmp_path / "vm1")
    vm.folder.mkdir()
    (vm.folder / "transfer.report").write_text(text)
    thin = replace(site(tmp_path), options={"compression": "thin"})
    move = Move(name="m1", role="outgoing", target=Target(memory=[f"tcp:{PLACE}"]))
    assert await Source(vm, move, thin, several=False)._wire({"ram": {"transferred": 5}}) == 0


@pytest.mark.parametrize("text", ["", "[]", "{", '{"phase": "over"}', '{"phase": "ended"}'])
async def test_a_report_that_cannot_be_read_is_an_error_or_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "transfer.report").write_text(text)
    try:
        assert await WeftTransfer(tmp_path).status() is None
    except HypervisorError as error:
        assert "the status of weft-transfer cannot be read" in str(error)
