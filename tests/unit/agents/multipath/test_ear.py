"""The kernel's packet filter, run by the kernel: a datagram socket accepts the same programs."""

import socket
from collections.abc import Iterable

import pytest

from agents.multipath.packet_socket import attach
from agents.multipath.segment import ACK, SYN, Address, End
from tests.unit.agents.multipath.frames import end, ethernet, frame, handshake, ip, tcp

VM, DEVICE, STRANGER = end("10.2.0.5", 5000), end("10.2.0.4", 40000), end("10.2.0.8", 40000)
VM6, DEVICE6, STRANGER6 = end("2001:db8:2::5", 5000), end("2001:db8:2::4", 40000), end("2001:db8:2::8", 40000)


def let_through(frames: Iterable[bytes], address: Address) -> list[bytes]:
    mouth, ear = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with mouth, ear:
        attach(ear, address)
        ear.setblocking(False)
        heard = []
        for each in frames:
            mouth.send(each)
            try:
                heard.append(ear.recv(4096))
            except BlockingIOError:
                continue
        return heard


@pytest.mark.parametrize(("vm", "device", "stranger"), [(VM, DEVICE, STRANGER), (VM6, DEVICE6, STRANGER6)])
def test_handshakes_of_the_address_and_nothing_else(vm: End, device: End, stranger: End) -> None:
    wanted = [*handshake(device, vm, 77), *handshake(vm, device, 78), frame(stranger, vm, 1, 0, SYN, bytes(40))]
    assert let_through(wanted, vm.address) == wanted
    near = vm.address + 1
    others = [
        *handshake(device, stranger, 79),
        frame(device, End(near, 5000), 1, 0, SYN),
        frame(device, vm, 1, 1, ACK, data=bytes(500)),
        ethernet(ip(device.address, vm.address, tcp(1, 2, 3, 4, ACK, b"", b"")).replace(b"\x40\x06", b"\x40\x11")),
        ethernet(ip(device.address, vm.address, tcp(1, 2, 3, 4, ACK, b"", b"")).replace(b"\x06\x40", b"\x11\x40")),
        b"",
        bytes(60),
    ]
    other_version = (VM6, DEVICE6) if vm is VM else (VM, DEVICE)
    heard = let_through([*others, *handshake(*other_version, 80)], vm.address)
    assert len(heard) == 1, "one of the two replacements is the other version's and changes nothing"
