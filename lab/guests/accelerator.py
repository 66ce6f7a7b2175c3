"""Whether KVM runs guests here, by the qemu driver's own test."""

import asyncio
from pathlib import Path

from agents.hypervisors.qemu.accelerator import KVM, boots

BOOT = Path("/proc/sys/kernel/random/boot_id")


def accelerator(guests: Path) -> str:
    """Return `kvm` or `tcg`, for the images below `guests`. The test runs once per boot of this machine."""
    found = guests / ".accelerator"
    boot = BOOT.read_text().strip()
    if found.is_file() and found.read_text().startswith(boot):
        return found.read_text().split()[1]
    answer = "kvm" if KVM.exists() and asyncio.run(boots("kvm", guests / "lab" / "kernel")) else "tcg"
    found.write_text(f"{boot} {answer}\n")
    return answer
