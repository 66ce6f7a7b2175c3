"""The command line of a machine's QEMU. Pure: the same at both ends of a move, except paths and `incoming`."""

from dataclasses import dataclass, replace
from pathlib import Path

from agents.hypervisors.bridge_ports import port
from agents.hypervisors.qemu.image import Image
from agents.hypervisors.target import DISK
from controller.wire.machines import NICS, Machine

PROGRAM = "qemu-system-x86_64"
MACHINE_TYPE = "pc-q35-10.0"
"""The machine type. It is not the newest of any QEMU: both ends must have it, whatever their versions."""

# The state goes in the pause, on a connection that TCP has not made fast yet (docs/operate/qemu.md). To keep it small:
# no description of it, and no tables of 1,024 queues for each device, as virtio 1 has and its legacy interface has not.
_QUIET = "dump-guest-core=off,suppress-vmdesc=on"
_LEGACY = "disable-modern=on,disable-legacy=off"

BASE = "base"
"""The block nodes: the machine's own overlay, and the shared image below it."""


@dataclass(frozen=True)
class Accelerator:
    """The accelerator that runs the guest's instructions, and the CPU that the guest sees."""

    name: str
    cpu: str

    def of(self, machine: Machine) -> "Accelerator":
        """Return this accelerator with the machine's recorded CPU, if it has one."""
        return replace(self, cpu=machine.cpu or self.cpu)


def command_line(
    machine: Machine,
    folder: Path,
    image: Image,
    accelerator: Accelerator,
    mtu: int,
    incoming: bool,
    network: bool = True,
) -> list[str]:
    """Return the command line. QEMU's sockets are in its working directory, `folder`. The machine does not run until it
    is told to. Without `network` its vNICs lead nowhere."""
    argv = [PROGRAM, "-name", machine.name, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"]
    argv += ["-pidfile", str(folder / "pid"), "-S"]
    argv += ["-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"]
    argv += ["-machine", f"{MACHINE_TYPE},{_QUIET}", "-accel", accelerator.name, "-cpu", accelerator.cpu]
    argv += ["-smp", str(machine.vcpus), "-m", f"{machine.memory >> 10}k"]
    argv += ["-chardev", "socket,id=monitor,path=monitor,server=on,wait=off", "-mon", "chardev=monitor,mode=control"]
    argv += ["-chardev", "socket,id=rescue,path=rescue,server=on,wait=off", "-mon", "chardev=rescue,mode=control"]
    argv += ["-chardev", "socket,id=console,path=console,server=on,wait=off", "-serial", "chardev:console"]
    argv += ["-device", f"virtio-serial-pci,{_LEGACY}", "-chardev", "socket,id=agent,path=agent,server=on,wait=off"]
    argv += ["-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0"]
    argv += ["-device", f"virtio-balloon-pci,{_LEGACY},id=balloon"]
    argv += [
        "-object",
        "rng-random,id=entropy,filename=/dev/urandom",
        "-device",
        f"virtio-rng-pci,{_LEGACY},rng=entropy",
    ]
    for nic, mac in zip(NICS, machine.macs, strict=True):
        cable = f"tap,ifname={port(folder, nic)},script=no,downscript=no" if network else "hubport,hubid=0"
        argv += ["-netdev", f"{cable},id=net-{nic}"]
        about = f"netdev=net-{nic},id=nic-{nic},mac={mac},host_mtu={mtu},romfile="
        argv += ["-device", f"virtio-net-pci,{_LEGACY},{about}"]
    if image.base is not None:
        argv += ["-blockdev", f"qcow2,node-name={BASE},read-only=on,file.driver=file,file.filename={_text(image.base)}"]
        overlay = f"file.driver=file,file.filename={_text(overlay_path(folder))}"
        argv += ["-blockdev", f"qcow2,node-name={DISK},backing={BASE},discard=unmap,{overlay}"]
        argv += ["-device", f"virtio-blk-pci,{_LEGACY},drive={DISK},id=drive,bootindex=1"]
    if image.kernel is not None:
        argv += ["-kernel", str(image.kernel)]
        argv += ["-initrd", str(image.initramfs)] if image.initramfs is not None else []
        # Documented for guests: the machine's name, and the operator's additions.
        said = [image.cmdline, f"weft.name={machine.name}", machine.options.get("cmdline", "")]
        argv += ["-append", " ".join(word for word in said if word)]
    return argv + (["-incoming", "defer"] if incoming else [])


def overlay_path(folder: Path) -> Path:
    """Return the file of everything that the machine has written to its disk."""
    return folder / "disk.qcow2"


def _text(path: Path) -> str:
    """Return the path for a list of options, in which a comma is written twice."""
    return str(path).replace(",", ",,")
