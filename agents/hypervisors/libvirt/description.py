"""The description of a machine for libvirt (libvirt.org/formatdomain.html). Pure: the same at both ends of a move,
except paths and `-incoming`. Every device has a fixed place on the bus, so that no version of libvirt chooses
another."""

import os
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from agents.hypervisors.bridge_ports import port
from agents.hypervisors.hypervisor import Refused
from agents.hypervisors.libvirt.processor import processor
from agents.hypervisors.qemu.command_line import MACHINE_TYPE, Accelerator, overlay_path
from agents.hypervisors.qemu.image import Image
from agents.hypervisors.record import Record
from agents.hypervisors.weft_transfer import SOCKET
from controller.wire.machines import NICS

BALLOON = "ua-balloon"
STATISTICS = 5
"""Seconds between two readings of the guest's memory by the balloon."""

_SLOTS = {"a": 2, "b": 3, "serial": 4, "balloon": 5, "entropy": 6, "disk": 7}
_ADDRESS = 107  # bytes of a unix socket's address (unix(7)), without the zero at its end
_SCHEMA = "http://libvirt.org/schemas/domain/qemu/1.0"


def description(
    kept: Record,
    uuid: str,
    folder: Path,
    image: Image,
    accelerator: Accelerator,
    emulator: str,
    confinements: Sequence[str],
) -> str:
    """Return the description. `confinements` are libvirt's security models: QEMU runs as root, as the owner of the
    machine's folder, and only seccomp confines it."""
    machine = kept.machine
    return f"""\
<domain type={quoteattr("kvm" if accelerator.name == "kvm" else "qemu")} xmlns:qemu="{_SCHEMA}">
  <name>{machine.name}</name>
  <uuid>{uuid}</uuid>
  <memory unit="KiB" dumpCore="off">{machine.memory >> 10}</memory>
  <vcpu>{machine.vcpus}</vcpu>
  <os>
    <type arch="x86_64" machine="{MACHINE_TYPE}">hvm</type>
{_boot(kept, image)}
  </os>
  <features><acpi/><apic/></features>
  {processor(accelerator.cpu)}
  <clock offset="utc"/>
  <on_poweroff>destroy</on_poweroff>
  <on_reboot>destroy</on_reboot>
  <on_crash>destroy</on_crash>
  <devices>
    <emulator>{escape(emulator)}</emulator>
    <controller type="pci" index="0" model="pcie-root"/>
    <controller type="usb" model="none"/>
    <controller type="virtio-serial" index="0">{_place("serial")}</controller>
    <serial type="pty"><target port="0"/></serial>
    <channel type="unix"><target type="virtio" name="org.qemu.guest_agent.0"/></channel>
    <memballoon model="virtio"><stats period="{STATISTICS}"/><alias name="{BALLOON}"/>{_place("balloon")}</memballoon>
    <rng model="virtio"><backend model="random">/dev/urandom</backend>{_place("entropy")}</rng>
{_interfaces(kept, folder)}{_disk(folder, image)}  </devices>
{_labels(confinements)}  <qemu:commandline>
{_arguments(kept, folder)}
  </qemu:commandline>
</domain>
"""


def _boot(kept: Record, image: Image) -> str:
    if image.kernel is None:
        return '    <boot dev="hd"/>'
    lines = [f"<kernel>{escape(str(image.kernel))}</kernel>"]
    lines += [f"<initrd>{escape(str(image.initramfs))}</initrd>"] if image.initramfs is not None else []
    # Documented for guests: the machine's name, and the operator's additions.
    said = (image.cmdline, f"weft.name={kept.machine.name}", kept.machine.options.get("cmdline", ""))
    lines += [f"<cmdline>{escape(' '.join(word for word in said if word))}</cmdline>"]
    return "\n".join(f"    {line}" for line in lines)


def _interfaces(kept: Record, folder: Path) -> str:
    return "".join(
        f"""\
    <interface type="bridge">
      <mac address="{mac}"/>
      <source bridge={quoteattr(kept.bridge)}/>
      <target dev="{port(folder, nic)}"/>
      <model type="virtio"/>
      <mtu size="{kept.mtu}"/>
      <link state="{"up" if kept.links[nic] else "down"}"/>
      <rom enabled="no"/>
      {_place(nic)}
    </interface>
"""
        for nic, mac in zip(NICS, kept.machine.macs, strict=True)
    )


def _disk(folder: Path, image: Image) -> str:
    if image.base is None:
        return ""
    return f"""\
    <disk type="file" device="disk">
      <driver name="qemu" type="qcow2" discard="unmap"/>
      <source file={quoteattr(str(overlay_path(folder)))}/>
      <backingStore type="file">
        <format type="qcow2"/>
        <source file={quoteattr(str(image.base.resolve()))}/>
        <backingStore/>
      </backingStore>
      <target dev="vda" bus="virtio"/>
      {_place("disk")}
    </disk>
"""


def _place(device: str) -> str:
    return f'<address type="pci" domain="0x0000" bus="0x00" slot="0x{_SLOTS[device]:02x}" function="0x0"/>'


def _labels(confinements: Sequence[str]) -> str:
    root = '  <seclabel type="static" model="dac" relabel="no"><label>+0:+0</label></seclabel>\n'
    free = (f'  <seclabel type="none" model={quoteattr(model)}/>\n' for model in confinements if model != "dac")
    return (root if "dac" in confinements else "") + "".join(free)


def _arguments(kept: Record, folder: Path) -> str:
    """Return the arguments for two monitors besides libvirt's own, and for the pid file by which the `qemu` code finds
    machines. Raises Refused if QEMU could not make the monitors' sockets, or weft-transfer's."""
    words = ["-pidfile", str(folder / "pid")]
    longest = max((folder / name for name in ("monitor", "rescue", SOCKET)), key=lambda path: len(os.fsencode(path)))
    if (size := len(os.fsencode(longest))) > _ADDRESS:
        limit = f"the address of a socket has {_ADDRESS} bytes at most, and {longest} has {size}"
        raise Refused(f"{kept.machine.name}: {limit}: a shorter state_dir is needed, or a shorter name")
    for name in ("monitor", "rescue"):
        path = str(folder / name).replace(",", ",,")  # in a list of options a comma is written twice
        words += ["-chardev", f"socket,id=weft-{name},path={path},server=on,wait=off"]
        words += ["-mon", f"chardev=weft-{name},mode=control"]
    words += ["-incoming", "defer"] if kept.move is not None else []
    return "\n".join(f"    <qemu:arg value={quoteattr(word)}/>" for word in words)
