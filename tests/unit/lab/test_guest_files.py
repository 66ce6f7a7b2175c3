"""The parts of the guest: archives, and modules in their order."""

import shutil
import subprocess
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.guests.cpio import Archive
from lab.guests.modules import closure


def test_archive_is_read_by_cpio(tmp_path: Path) -> None:
    busybox = shutil.which("busybox")
    if busybox is None:
        pytest.skip("busybox is not installed; lab/provision installs it")
    archive = Archive()
    archive.file("etc/deep/name", b"content", 0o640)
    archive.link("bin", "/usr/bin")
    archive.directory("tmp", 0o777)
    (tmp_path / "a").write_bytes(archive.pack())
    out = tmp_path / "out"
    out.mkdir()
    subprocess.run([busybox, "cpio", "-i", "-F", str(tmp_path / "a")], cwd=out, check=True, capture_output=True)
    assert (out / "etc/deep/name").read_bytes() == b"content"
    assert (out / "etc/deep/name").stat().st_mode & 0o777 == 0o640
    assert str((out / "bin").readlink()) == "/usr/bin"
    assert (out / "tmp").is_dir()


def test_archive_does_not_depend_on_order() -> None:
    one, other = Archive(), Archive()
    one.file("a", b"1")
    one.file("b/c", b"2")
    other.file("b/c", b"2")
    other.file("a", b"1")
    assert one.pack() == other.pack()


def module(tree: Path, name: str, depends: str) -> None:
    (tree / f"{name}.ko").write_bytes(b"ELF\0license=GPL\0depends=" + depends.encode() + b"\0retpoline=Y\0")


def test_modules_come_after_what_they_need(tmp_path: Path) -> None:
    module(tmp_path, "virtio-net", "virtio,net_failover")
    module(tmp_path, "net_failover", "failover")
    module(tmp_path, "failover", "")
    module(tmp_path, "unwanted", "")
    (tmp_path / "modules.builtin").write_text("kernel/drivers/virtio/virtio.ko\n")
    assert list(closure(tmp_path, ["virtio_net", "failover"])) == ["failover", "net_failover", "virtio_net"]


def test_a_module_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "modules.builtin").write_text("")
    with pytest.raises(LabError, match="no module virtio_net"):
        closure(tmp_path, ["virtio_net"])
