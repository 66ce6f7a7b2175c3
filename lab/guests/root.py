"""The guest's root: busybox, iproute2, the guest agent and their libraries, Weft's guest package, and the scripts that
start it."""

import subprocess
from pathlib import Path

from lab.errors import LabError
from lab.guests import packages
from lab.guests.cpio import Archive
from lab.guests.modules import closure

HERE = Path(__file__).parent
MODULES = (
    "virtio_pci", "virtio_net", "virtio_blk", "virtio_console", "virtio_balloon", "virtio_rng",
    "ext4", "af_packet",
    "inet_diag", "tcp_diag", "mptcp_diag", "button", "evdev",
)  # fmt: skip
PROGRAMS = ("bin/ip", "bin/ss", "bin/nstat", "sbin/qemu-ga")
LIBRARIES = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu")
BINARIES = "usr/bin"
"""The directory of all programs: /bin, /sbin and /usr/sbin are links to it."""


def pack(unpacked: Path, tree: Path, work: Path) -> bytes:
    """Return the initramfs made from unpacked packages. `tree` is the kernel's lib/modules/RELEASE, `work` the compiled
    load."""
    archive = Archive()
    for path in ("bin", "sbin", "usr/sbin"):
        archive.link(path, "/usr/bin")
    for path in ("proc", "sys", "dev", "run", "tmp", "root", "disk", "mnt"):
        archive.directory(path)
    archive.link("var/run", "/run")
    archive.device("dev/console", 5, 1)
    archive.link("init", "/usr/bin/busybox")
    _busybox(archive, packages.path(unpacked, "bin/busybox"))
    for program in PROGRAMS:
        _program(archive, unpacked, packages.path(unpacked, program))
    modules = closure(tree, MODULES)
    for name, content in modules.items():
        archive.file(f"lib/modules/{name}.ko", content)
    archive.file("lib/modules/order", "".join(f"{name}\n" for name in modules).encode())
    archive.file("etc/inittab", (HERE / "image/inittab").read_bytes())
    archive.file("etc/passwd", b"root::0:0:root:/root:/bin/sh\n")
    archive.file("etc/group", b"root:x:0:\n")
    for name in ("start", "say", "agent", "garble", "end"):
        archive.file(f"etc/weft/{name}", (HERE / "image" / name).read_bytes(), 0o755)
    archive.file(f"{BINARIES}/shutdown", (HERE / "image/shutdown").read_bytes(), 0o755)
    archive.file(f"{BINARIES}/weft-guest", (HERE / "package/weft-guest").read_bytes(), 0o755)
    archive.file(f"{BINARIES}/weft-work", work.read_bytes(), 0o755)
    return archive.pack()


def _busybox(archive: Archive, busybox: Path) -> None:
    archive.file(f"{BINARIES}/busybox", busybox.read_bytes(), 0o755)
    for applet in _output([str(busybox), "--list"]).split():
        if f"{BINARIES}/{applet}" not in archive:
            archive.link(f"{BINARIES}/{applet}", "busybox")


def _program(archive: Archive, unpacked: Path, program: Path) -> None:
    """Add a program with all its libraries, which must come from the packages, so that the guest is the same on every
    machine."""
    archive.file(f"{BINARIES}/{program.name}", program.read_bytes(), 0o755)
    loader = packages.path(unpacked, "lib64/ld-linux-x86-64.so.2")
    path = ":".join(str(unpacked / directory) for directory in LIBRARIES)
    archive.file("lib64/ld-linux-x86-64.so.2", loader.read_bytes(), 0o755)
    for line in _output([str(loader), "--library-path", path, "--list", str(program)]).splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if not arrow or name.startswith("/"):
            continue
        library = Path(rest.split(" (")[0])
        if not library.is_relative_to(unpacked):
            raise LabError(f"{program.name} needs {name}, which is in none of the guest's packages")
        archive.file(str(library.relative_to(unpacked)), library.read_bytes())


def _output(argv: list[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"'{' '.join(argv)}' failed: {done.stderr.strip()}")
    return done.stdout
