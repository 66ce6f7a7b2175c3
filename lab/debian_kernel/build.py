"""Builds kernel and initramfs of the guest below build/debian-kernel, once for the same sources."""

import json
import shutil
import tempfile
from pathlib import Path

from lab.guests import packages
from lab.guests.build import alone, sources
from lab.guests.cpio import Archive
from lab.guests.modules import closure
from lab.lock import Progress
from lab.paths import BUILD

HERE = Path(__file__).parent
FOLDER = BUILD / "debian-kernel"
IMAGE = "guest"
KERNEL = "linux-image-amd64"  # the cloud's flavour lacks 9p
MODULES = (
    "virtio_pci", "9pnet_virtio", "9p", "overlay",
    "veth", "bridge", "8021q", "af_packet", "sch_tbf", "tun", "crc32c_generic",
    "nf_tables", "nft_meta_bridge", "nft_limit", "nft_objref",
    "unix_diag", "inet_diag", "tcp_diag", "udp_diag", "raw_diag", "netlink_diag", "af_packet_diag", "mptcp_diag",
)  # fmt: skip


def build(progress: Progress = lambda _: None) -> Path:
    """Build both if need be, and return their folder. Raises LabError with what is missing on this machine."""
    with alone(FOLDER, IMAGE, HERE) as made:
        if not made:
            names = [packages.depends(KERNEL, "linux-image-"), packages.current("busybox-static")]
            progress("Debian's kernel, and an initramfs for it")
            with tempfile.TemporaryDirectory(dir=FOLDER) as temporary:
                _build(Path(temporary), packages.fetch(names, FOLDER / "packages"))
    return FOLDER / IMAGE


def _build(temporary: Path, debs: list[Path]) -> None:
    unpacked, new = temporary / "root", temporary / IMAGE
    packages.unpack(debs, unpacked)
    new.mkdir()
    [kernel] = (unpacked / "boot").glob("vmlinuz-*")
    release = kernel.name.removeprefix("vmlinuz-")
    shutil.copyfile(kernel, new / "kernel")
    tree = packages.path(unpacked, f"lib/modules/{release}")
    (new / "initramfs").write_bytes(_pack(packages.path(unpacked, "bin/busybox"), tree))
    (new / "made.json").write_text(json.dumps({"sources": sources(HERE), "kernel": release}) + "\n")
    shutil.rmtree(FOLDER / IMAGE, ignore_errors=True)
    new.rename(FOLDER / IMAGE)


def _pack(busybox: Path, tree: Path) -> bytes:
    archive = Archive()
    for path in ("proc", "sys", "dev", "host", "written", "root"):
        archive.directory(path)
    archive.device("dev/console", 5, 1)
    archive.file("bin/busybox", busybox.read_bytes(), 0o755)
    archive.file("init", (HERE / "init").read_bytes(), 0o755)
    modules = closure(tree, MODULES)
    for name, content in modules.items():
        archive.file(f"modules/{name}.ko", content)
    archive.file("modules/order", "".join(f"{name}\n" for name in modules).encode())
    return archive.pack()
