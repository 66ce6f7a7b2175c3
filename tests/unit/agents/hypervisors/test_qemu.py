"""The qemu driver's decisions, without a QEMU."""

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.hypervisors import paths, record, target
from agents.hypervisors.bridge_ports import port
from agents.hypervisors.hypervisor import HypervisorError, Refused, Site
from agents.hypervisors.qemu import departure, transfer
from agents.hypervisors.qemu.accelerator import accelerator, version
from agents.hypervisors.qemu.command_line import PROGRAM, Accelerator, command_line
from agents.hypervisors.qemu.condition import COMING, POSTCOPY, condition
from agents.hypervisors.qemu.convergence import Convergence, Sample
from agents.hypervisors.qemu.digests import Digests
from agents.hypervisors.qemu.image import Image, image, names
from agents.hypervisors.qemu.vm import Vm
from agents.hypervisors.record import Move, Record
from agents.hypervisors.target import HostPort
from controller.wire.machines import Condition, Disk, Machine
from controller.wire.moves import Figures, Target, Tuning

MIB = 1 << 20
MACHINE = Machine(
    name="vm1",
    driver="qemu",
    image="lab",
    memory=256 * MIB,
    vcpus=2,
    macs=("52:54:00:00:00:0a", "52:54:00:00:00:0b"),
    disk=Disk(base="lab", bytes=512 * MIB),
)
RUN_STATES = (
    "running", "paused", "prelaunch", "inmigrate", "postmigrate", "finish-migrate", "shutdown", "guest-panicked",
    "internal-error", "io-error", "suspended", "watchdog", "save-vm", "restore-vm", "debug", "colo", None,
)  # fmt: skip
STATUSES = ("none", *transfer.UNDER_WAY, *transfer.FAILED, "completed", *POSTCOPY)
moves = st.builds(
    Move, name=st.just("m1"), role=st.sampled_from(["outgoing", "incoming", "arrived"]),
    handed=st.sampled_from([None, Figures()]), tuning=st.builds(Tuning, post_copy=st.booleans()),
)  # fmt: skip


def kept(move: Move | None) -> Record:
    return Record(machine=MACHINE, bridge="lan1", mtu=1400, serving="a", links={"a": True, "b": False}, move=move)


@given(st.none() | moves, st.sampled_from(RUN_STATES), st.sampled_from(STATUSES))
def test_only_what_runs_is_said_to_run(move: Move | None, run_state: str | None, status: str) -> None:
    found, _ = condition(kept(move), run_state, status)
    assert found in get_args(Condition)
    assert (found == "running") == (run_state == "running")
    if run_state is None:
        assert found == ("moved" if move and move.role == "outgoing" and move.handed else "stopped")


@given(moves, st.sampled_from(RUN_STATES), st.sampled_from(STATUSES))
def test_only_a_source_has_moved_and_only_a_destination_waits(move: Move, run_state: str | None, status: str) -> None:
    found, _ = condition(kept(move), run_state, status)
    if found == "moved":
        assert move.role == "outgoing" or run_state == "postmigrate"
    if found == "waiting":
        assert move.role == "incoming"


@given(moves, st.sampled_from(["paused", "finish-migrate"]))
def test_a_source_whose_post_copy_fails_at_the_end_is_needed_no_more(move: Move, run_state: str) -> None:
    """QEMU says "failed" if the path is cut between the last page and the destination's last word. It cannot be resumed
    then, so the machine is never again this one's."""
    found, detail = condition(kept(move), run_state, "failed")
    assert (found == "moved") == (move.role == "outgoing" and move.handed is not None and move.tuning.post_copy)
    assert COMING not in detail


@pytest.mark.parametrize("post_copy", [True, False])
def test_a_source_has_moved_when_qemu_is_done_and_not_a_moment_later(post_copy: bool) -> None:
    """QEMU says "completed" before its run state is "postmigrate". Before the handover that is an earlier move."""
    move = Move(name="m1", role="outgoing", tuning=Tuning(post_copy=post_copy))
    assert condition(kept(move), "paused", "completed")[0] == "paused"
    move.handed = Figures()
    assert condition(kept(move), "paused", "completed")[0] == "moved"
    assert condition(kept(move), "running", "completed")[0] == "running"


def followed(pause: float, bandwidth: float, dirty: float, working_set: int, seconds: float) -> Convergence:
    """Simulate QEMU: each round sends the data that the round before left. The convergence is checked every 50 ms."""
    found, now, sent, number, left, again = Convergence(pause), 0.0, 0.0, 1, 32 * MIB + 2.0 * working_set, 0.0
    while now < seconds and not found.ready:
        found.add(Sample(now, number, int(left), int(sent)))
        step = min(0.05, left / bandwidth)
        now, sent, left = now + max(step, 0.001), sent + bandwidth * step, left - bandwidth * step
        again = min(again + dirty * max(step, 0.001), working_set)
        if left < 1:  # a float would never reach 0
            number, left, again = number + 1, again, 0.0
    return found


@settings(max_examples=30)
@given(st.floats(0.05, 2), st.floats(4 * MIB, 1000 * MIB), st.floats(0, 0.6), st.integers(0, 128 * MIB))
def test_what_the_link_outruns_converges(pause: float, bandwidth: float, share: float, working_set: int) -> None:
    """The rest then fits into the pause, or nearly: a check every 50 ms may miss the best moment by that time."""
    assert followed(pause, bandwidth, share * bandwidth, working_set, 10_000).ready


@settings(max_examples=30)
@given(st.floats(0.1, 1), st.floats(4 * MIB, 100 * MIB), st.floats(1.2, 4))
def test_what_outruns_the_link_does_not(pause: float, bandwidth: float, share: float) -> None:
    working_set = int(bandwidth * (pause + 0.1) * 2)
    assert not followed(pause, bandwidth, share * bandwidth, working_set, 60).ready


def test_nothing_is_ready_before_its_second_round() -> None:
    found = Convergence(1.0)
    for number in (1, 1, 2):
        found.add(Sample(float(number), number, 0, 1000))
        assert not found.ready


@given(st.builds(Tuning, compression=st.booleans(), auto_converge=st.booleans(), post_copy=st.booleans()),
       st.sampled_from([{}, {"compression": "xbzrle"}, {"compression": "none"}, {"compression": "thin"}]))  # fmt: skip
def test_both_ends_agree_and_only_the_source_waits_for_a_word(tuning: Tuning, options: dict[str, str]) -> None:
    both = ("return-path", "multifd", "xbzrle", "postcopy-ram", "postcopy-preempt")
    source, target = (
        {one["capability"]: one["state"] for one in transfer.capabilities(tuning, options, end)["capabilities"]}
        for end in (True, False)
    )
    assert all(source[name] == target[name] for name in both)
    assert source["switchover-ack"] and not target["switchover-ack"]
    assert source["pause-before-switchover"]
    assert target["late-block-activate"]
    assert not (source["multifd"] and (source["xbzrle"] or source["postcopy-ram"]))
    assert transfer.parameters(tuning, options)["multifd-channels"] == 1, "with more, QEMU hangs if one breaks"
    assert tuning.compression or transfer.parameters(tuning, options)["multifd-compression"] == "none"


def site(folder: Path, address: str = "192.0.2.1") -> Site:
    return Site("c1", folder, folder, address)


async def test_a_machine_that_does_not_run_is_not_asked_to_leave_again_and_again(tmp_path: Path) -> None:
    vm = Vm(tmp_path / MACHINE.name)
    vm.save(kept(Move(name="m1", role="outgoing")))
    with pytest.raises(Refused, match="its QEMU does not run"):
        await departure.begin(
            vm,
            "m1",
            Target(memory=["tcp:192.0.2.1:49152"]),
            Tuning(),
            site(tmp_path),
            several=False,
            digests=Digests(tmp_path),
        )
    (vm.folder / "log").write_text("qemu-system-x86_64: cannot go on\n")
    with pytest.raises(Refused, match="its QEMU does not run: qemu-system-x86_64: cannot go on"):
        await departure.switchover(vm, "m1", site(tmp_path), several=False)


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1"])
def test_places_are_read_as_they_are_written(host: str) -> None:
    said = target.target([HostPort(host, 49152), HostPort(host, 49153)], HostPort(host, 49154))
    assert target.memory(said) == [HostPort(host, 49152), HostPort(host, 49153)]
    assert target.disk(said) == HostPort(host, 49154)
    assert HostPort(host, 1).inet(True) == {"host": host, "port": "1", "mptcp": True}


def test_what_would_leave_from_an_address_that_is_taken_nowhere_is_not_sent() -> None:
    place = HostPort("127.0.0.1", 49152)
    paths.leaves(place, "127.0.0.1")
    with pytest.raises(HypervisorError, match=r"leave from 127\.0\.0\.1, .* 192\.0\.2\.1: .* 'src 192\.0\.2\.1'"):
        paths.leaves(place, "192.0.2.1")
    paths.leaves(HostPort("255.255.255.255", 49152), "192.0.2.1")  # no route: connecting fails later


async def test_nothing_leaves_that_nobody_would_take_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check happens when a move begins; a move under way is not checked again."""
    vm, here = Vm(tmp_path / MACHINE.name), Target(memory=["tcp:127.0.0.1:49152"])
    monkeypatch.setattr(vm, "runs", lambda: True)
    vm.save(kept(None))
    with pytest.raises(HypervisorError, match=r"its route needs 'src 192\.0\.2\.1'"):
        await departure.begin(vm, "m1", here, Tuning(), site(tmp_path), several=False, digests=Digests(tmp_path))
    assert vm.known().move is None
    await departure.begin(
        vm, "m1", here, Tuning(), site(tmp_path, "127.0.0.1"), several=False, digests=Digests(tmp_path)
    )
    await departure.begin(vm, "m1", here, Tuning(), site(tmp_path), several=False, digests=Digests(tmp_path))


@pytest.mark.parametrize("uri", ["exec:reboot", "tcp:1.2.3.4", "tcp:1.2.3.4:5,mptcp=on", "unix:/x", "file:/etc/passwd"])
def test_other_places_are_none(uri: str) -> None:
    with pytest.raises(HypervisorError, match="not a place"):
        target.memory(Target(memory=[uri]))
    with pytest.raises(HypervisorError, match="not a place"):
        target.disk(Target(memory=[uri], disk=uri))


def test_command_line(tmp_path: Path) -> None:
    files = Image(tmp_path / "kernel", None, "quiet", tmp_path / "a,b.qcow2")
    argv = command_line(MACHINE, tmp_path, files, Accelerator("tcg", "max,-la57"), 1400, incoming=True)
    assert argv[-2:] == ["-incoming", "defer"]
    assert {"-S", "-no-reboot", "-nodefaults", "-no-user-config", "-sandbox"} <= set(argv)
    assert any("a,,b.qcow2" in word and "read-only=on" in word for word in argv)
    legacy = "disable-modern=on,disable-legacy=off"
    assert f"virtio-net-pci,{legacy},netdev=net-b,id=nic-b,mac={MACHINE.macs[1]},host_mtu=1400,romfile=" in argv
    assert argv[argv.index("-append") + 1] == "quiet weft.name=vm1"
    plain = command_line(MACHINE, tmp_path, files, Accelerator("tcg", "max,-la57"), 1400, incoming=False)
    assert plain == argv[:-2]


def test_taps_have_names_that_the_kernel_takes() -> None:
    names = {port(Path(folder), nic) for folder in ("/a/vm1", "/b/vm1", "/a/" + "x" * 63) for nic in ("a", "b")}
    assert len(names) == 6
    assert all(len(name) == 15 and name.startswith("wv") for name in names)


def test_images_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no image 'lab'"):
        image(tmp_path, MACHINE)
    (tmp_path / "lab").mkdir()
    with pytest.raises(Refused, match="no base 'lab'"):
        image(tmp_path, MACHINE)
    with pytest.raises(Refused, match="no kernel"):
        image(tmp_path, MACHINE.model_copy(update={"disk": None}))
    (tmp_path / "lab" / "disk.qcow2").touch()
    assert image(tmp_path, MACHINE).kernel is None


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert record.load(tmp_path / "vm1") is None
    said = kept(Move(name="m1", role="incoming", target=Target(memory=["tcp:192.0.2.1:1"])))
    record.save(tmp_path / "vm1", said)
    assert record.load(tmp_path / "vm1") == said
    (tmp_path / "vm1" / record.FILE).write_text("{")
    with pytest.raises(HypervisorError, match="cannot be read"):
        record.load(tmp_path / "vm1")


def test_the_only_vnic_with_a_cable_serves() -> None:
    found = kept(None)
    said = []
    for nic, up in (("b", True), ("a", False), ("b", False)):
        found.plug("b" if nic == "b" else "a", up)
        said.append(found.serving)
    assert said == ["a", "b", "b"]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)", "7.2.22; 10 or later"),
        ("QEMU emulator version 9.2.4", "9.2.4; 10 or later"),
        ("something else", "does not tell its version"),
        (None, "is not installed"),
    ],
)
async def test_old_qemus_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str | None, words: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if said is not None:
        (tmp_path / PROGRAM).write_text(f"#!/bin/sh\necho '{said}'\n")
        (tmp_path / PROGRAM).chmod(0o755)
    with pytest.raises(Refused, match=words):
        await version()


async def test_new_qemus_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / PROGRAM).write_text("#!/bin/sh\necho 'QEMU emulator version 10.0.2 (Debian)'\n")
    (tmp_path / PROGRAM).chmod(0o755)
    assert await version() == "10.0.2"
    (tmp_path / "accelerator.json").write_text('{"qemu": "10.0.2", "name": "tcg"}')
    assert (await accelerator(tmp_path, tmp_path, {})).name == "tcg"
    assert await accelerator(tmp_path, tmp_path, {"accelerator": "kvm", "cpu": "Skylake"}) == Accelerator(
        "kvm", "Skylake"
    )
    with pytest.raises(Refused, match="accelerator 'xen'"):
        await accelerator(tmp_path, tmp_path, {"accelerator": "xen"})
    (tmp_path / "accelerator.json").unlink()
    with pytest.raises(HypervisorError, match="set the option"):
        await accelerator(tmp_path, tmp_path, {})


def test_the_images_that_machines_can_name(tmp_path: Path) -> None:
    """Only folders count, with names that a message may contain."""
    assert names(tmp_path / "none") == []
    for name in ("b", "a-1", "Lab", "x" * 64, ".hidden", "new\n"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").touch()
    assert names(tmp_path) == ["a-1", "b"]
