"""Runs a command in the guest: QEMU with a processor in software, whose guest reads this machine's root."""

import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.hypervisors.qemu.command_line import PROGRAM
from lab.debian_kernel.build import build
from lab.errors import LabError
from lab.paths import ROOT

MEMORY = 3 << 10  # MiB; everything that is written is there
PROCESSORS = 2

_BEGIN = """cd {folder}
export {environment}
ip link set lo up
{command} </dev/null >/mnt/output 2>&1
echo $? >/mnt/code
sync
echo o >/proc/sysrq-trigger
sleep 60
"""


@dataclass(frozen=True)
class Ended:
    """The exit code of a command, and all its output."""

    code: int
    output: str


def run(argv: Sequence[str], environment: Mapping[str, str], seconds: float) -> Ended:
    """Run a command at the root of this repository, as root, under Debian's kernel. Nothing that it writes stays.
    Raises LabError if it does not end in time."""
    image = build()
    with tempfile.TemporaryDirectory(prefix="weft-kernel-") as folder:
        given = Path(folder)
        words = " ".join(f"{name}={shlex.quote(value)}" for name, value in environment.items())
        begin = _BEGIN.format(folder=shlex.quote(str(ROOT)), environment=words, command=shlex.join(argv))
        (given / "begin").write_text(begin)
        said = ""
        try:
            done = subprocess.run(_argv(image, given), capture_output=True, text=True, check=False, timeout=seconds)
            said = done.stderr.strip()
        except subprocess.TimeoutExpired:
            said = f"it has not ended after {seconds:g} s"
        try:
            return Ended(int((given / "code").read_text()), (given / "output").read_text(errors="replace"))
        except (OSError, ValueError):
            last = "".join(_tail(given / name) for name in ("output", "console"))
            raise LabError(f"'{shlex.join(argv)}' did not end under Debian's kernel: {said}\n{last}") from None


def _argv(image: Path, given: Path) -> list[str]:
    share = "security_model=none,multidevs=remap"
    return [
        PROGRAM, "-nodefaults", "-display", "none", "-no-reboot", "-machine", "q35", "-accel", "tcg,thread=multi",
        "-cpu", "max", "-smp", str(PROCESSORS), "-m", str(MEMORY),
        "-kernel", str(image / "kernel"), "-initrd", str(image / "initramfs"),
        "-append", "console=ttyS0 quiet panic=-1 no_timer_check",
        "-serial", f"file:{given / 'console'}",
        "-fsdev", f"local,id=host,path=/,readonly=on,{share}", "-device", "virtio-9p-pci,fsdev=host,mount_tag=host",
        "-fsdev", f"local,id=given,path={given},{share}", "-device", "virtio-9p-pci,fsdev=given,mount_tag=given",
    ]  # fmt: skip


def _tail(path: Path) -> str:
    return path.read_text(errors="replace")[-2000:] if path.exists() else ""
