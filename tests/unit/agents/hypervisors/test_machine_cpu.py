"""Both QEMU drivers give a machine its recorded CPU, or the default if it has none."""

from pathlib import Path
from typing import Any

import pytest

from agents.hypervisors.hypervisor import Attachment, Refused, Site
from agents.hypervisors.libvirt.description import description
from agents.hypervisors.qemu import boot
from agents.hypervisors.qemu.command_line import Accelerator, command_line
from agents.hypervisors.qemu.digests import Digests
from agents.hypervisors.qemu.image import Image
from agents.hypervisors.record import Record
from controller.wire.machines import Machine
from controller.wire.platforms import Platform

MACHINE = Machine(
    name="vm1", driver="qemu", image="lab", memory=1 << 24, macs=("52:54:00:00:00:0a", "52:54:00:00:00:0b")
)
OWN = Accelerator("tcg", "max,-la57")


class Session:
    async def __aenter__(self) -> "Session":
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


class Vm:
    """A machine that records calls instead of running a QEMU."""

    def __init__(self, folder: Path) -> None:
        self.name, self.folder, self.monitor = "vm1", folder, self
        self.kept: Record | None = None
        self.spawned: list[Accelerator] = []
        self.removed: list[bool] = []

    def session(self) -> Session:
        return Session()

    def known(self) -> Record:
        assert self.kept is not None
        return self.kept

    def save(self, kept: Record) -> None:
        self.kept = kept

    async def spawn(self, files: Image, accelerator: Accelerator) -> None:
        self.spawned.append(accelerator)

    async def remove(self, disk: bool = True) -> None:
        self.removed.append(disk)


async def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpu: str | None, *lacks: str) -> Vm:
    async def answer(result: Any) -> Any:
        return result

    seen = Platform(version="1", board="b", accelerator="tcg", cpu="x")
    monkeypatch.setattr(boot, "version", lambda: answer("10.0"))
    monkeypatch.setattr(boot, "accelerator", lambda *_: answer(OWN))
    monkeypatch.setattr(boot, "image", lambda *_: Image(tmp_path / "kernel", None, "", None))
    monkeypatch.setattr(boot, "missing", lambda _: answer(list(lacks)))
    monkeypatch.setattr(boot, "platform", lambda session, machine, files, runs, digests: answer(seen))
    vm: Any = Vm(tmp_path)
    machine = MACHINE.model_copy(update={"cpu": cpu})
    site = Site("c1", tmp_path, tmp_path, "192.0.2.1")
    try:
        await boot.boot(site, vm, machine, Attachment("lan1", 1400), "a", None, Digests(tmp_path))
    except Refused as refused:
        assert vm.removed == [False], "nothing is left that a second start would let run"
        raise refused
    return vm  # type: ignore[no-any-return]


@pytest.mark.parametrize(("cpu", "given"), [(None, "max,-la57"), ("EPYC-Rome,-rdpid", "EPYC-Rome,-rdpid")])
async def test_the_recorded_cpu_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpu: str | None, given: str
) -> None:
    vm = await begin(tmp_path, monkeypatch, cpu)
    (runs,) = vm.spawned
    assert runs == Accelerator("tcg", given) and vm.known().machine.cpu == cpu
    files = Image(tmp_path / "kernel", None, "", None)
    argv = command_line(MACHINE, tmp_path, files, runs, 1400, incoming=False)
    assert argv[argv.index("-cpu") + 1] == given
    xml = description(vm.known(), "6f9619ff-8b86-5011-b42d-00c04fc964ff", tmp_path, files, runs, "/qemu", ())
    assert ('<cpu mode="maximum"' in xml) == (cpu is None) and ("EPYC-Rome</model>" in xml) == (cpu is not None)


async def test_what_the_host_lacks_of_it_is_not_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """QEMU would leave out the missing features, and the guest would have another CPU than the chosen one."""
    with pytest.raises(Refused, match="vm1 cannot have the CPU EPYC-Rome here: it lacks rdpid, xsaves"):
        await begin(tmp_path, monkeypatch, "EPYC-Rome", "rdpid", "xsaves")
    assert (await begin(tmp_path, monkeypatch, None, "avx512f")).removed == []
