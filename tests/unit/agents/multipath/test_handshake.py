"""A join counts when all four packets came in their order, and neither end reset it."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.multipath.handshake import Handshakes, Joined
from agents.multipath.segment import ACK, FIN, RST, SYN, End, segment
from tests.unit.agents.multipath.frames import dss, end, frame, handshake, join_ack, join_syn

VM, DEVICE, STRANGER = end("10.2.0.5", 5000), end("10.2.0.4", 40000), end("10.2.0.8", 40000)
VM6, DEVICE6 = end("2001:db8:2::5", 5000), end("2001:db8:2::4", 40000)
SEQUENCES = st.integers(0, 2**32 - 1) | st.just(2**32 - 1)


def seen(frames: list[bytes], vm: End = VM, peer: End | None = DEVICE) -> list[Joined]:
    handshakes = Handshakes(vm.address, peer.address if peer else None)
    return [joined for each in frames if (joined := handshakes.see(segment(each)))]


@given(st.sampled_from([(VM, DEVICE), (VM6, DEVICE6)]), st.booleans(), SEQUENCES, SEQUENCES, st.booleans())
def test_from_either_side(ends: tuple[End, End], vm_begins: bool, x: int, y: int, known: bool) -> None:
    vm, device = ends
    initiator, acceptor = (vm, device) if vm_begins else (device, vm)
    packets = handshake(initiator, acceptor, 77, x, y)
    assert seen(packets, vm, device if known else None) == [Joined(initiator, acceptor, 77, False)]
    for n in range(4):
        assert seen(packets[:n], vm) == []


@given(st.lists(st.integers(0, 3), max_size=12))
def test_never_without_all_four_in_order(order: list[int]) -> None:
    packets = handshake(DEVICE, VM, 77)
    joined = seen([packets[i] for i in order])
    rest = iter(order)
    assert bool(joined) == all(n in rest for n in range(4))


@given(st.lists(st.integers(0, 3), max_size=8))
def test_packets_sent_again_do_no_harm(extra: list[int]) -> None:
    packets = handshake(DEVICE, VM, 77)
    for n in extra:
        packets.insert(n + 1, packets[n])
    packets.sort(key=handshake(DEVICE, VM, 77).index)
    assert seen(packets) == [Joined(DEVICE, VM, 77, False)]


@pytest.mark.parametrize("after", [1, 2, 3])
@pytest.mark.parametrize("flag", [RST, FIN | ACK, RST | ACK])
@pytest.mark.parametrize("by_vm", [True, False])
def test_taken_back(after: int, flag: int, by_vm: bool) -> None:
    packets = handshake(DEVICE, VM, 77)
    ends = (VM, DEVICE) if by_vm else (DEVICE, VM)
    packets.insert(after, frame(*ends, 1, 1, flag))
    assert seen(packets) == []


def test_others_do_not_count() -> None:
    assert seen(handshake(STRANGER, VM, 77)) == []
    assert seen(handshake(DEVICE, STRANGER, 77), peer=None) == []
    assert len(seen(handshake(STRANGER, VM, 77), peer=None)) == 1


def test_an_ordinary_connection_is_no_join() -> None:
    packets = [
        frame(DEVICE, VM, 1, 0, SYN),
        frame(VM, DEVICE, 5, 2, SYN | ACK),
        frame(DEVICE, VM, 2, 6, ACK),
        frame(VM, DEVICE, 6, 2, ACK, dss()),
    ]
    assert seen(packets) == []
    fallen_back = [frame(DEVICE, VM, 1, 0, SYN, join_syn(77)), *packets[1:]]
    assert seen(fallen_back) == []


def test_acknowledgments_of_something_else_do_not_count() -> None:
    packets = handshake(DEVICE, VM, 77)
    assert seen([*packets[:2], frame(DEVICE, VM, 1001, 4999, ACK, join_ack()), packets[3]]) == []
    assert seen([*packets[:3], frame(VM, DEVICE, 5001, 1000, ACK, dss())]) == []


def test_several_at_once_and_ports_used_again() -> None:
    one, two = handshake(DEVICE, VM, 77), handshake(end("10.2.0.4", 40001), VM, 78, 9, 9)
    mixed = [packet for pair in zip(one, two, strict=True) for packet in pair]
    assert [joined.token for joined in seen(mixed)] == [77, 78]
    assert [joined.token for joined in seen([*one[:2], *handshake(DEVICE, VM, 79, 50, 60)])] == [79]


def test_many_that_never_end_push_out_the_oldest_only() -> None:
    handshakes = Handshakes(ip_address("10.2.0.5"))
    for port in range(3000):
        handshakes.see(segment(handshake(End(DEVICE.address, 10000 + port), VM, port)[0]))
    last = handshake(End(DEVICE.address, 10000 + 2999), VM, 2999)
    assert [joined for each in last[1:] if (joined := handshakes.see(segment(each)))]
