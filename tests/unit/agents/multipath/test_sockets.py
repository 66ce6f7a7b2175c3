"""The output of `ss` about a guest's connections."""

from ipaddress import ip_address
from timeit import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.multipath.sockets import Socket, bound, joined, plain, sockets

OLD, NEW, DEVICE = (ip_address(text) for text in ("10.1.0.5", "10.2.0.5", "10.2.0.4"))
FIRST = "0 0 10.1.0.5:5000 10.2.0.4:40000 cubic rto:204 tcp-ulp-mptcp flags:Mec token:0000(id:0)/7080938a(id:0) seq:b01"
SECOND = "0 0 10.2.0.5:5000 10.2.0.4:40001 cubic rto:1000 tcp-ulp-mptcp flags:Jec token:0000(id:0)/7080938a(id:1) seq:b"
ASKED = SECOND.replace("Jec", "Jc")
DIRECT = "0 0 10.2.0.5:5000 10.2.0.4:40002 cubic tcp-ulp-mptcp flags:Mec token:0000(id:0)/1(id:0) seq:b"
PLAIN = "0 0 10.1.0.5%eth0:22 [::ffff:10.2.0.4]:40003 cubic rto:204 mss:1448"
SIX = "0 0 [2001:db8::5%eth1]:80 [2001:db8::4]:40004 cubic"


def test_each_is_read() -> None:
    lines = (FIRST, SECOND, ASKED, PLAIN, SIX, "", "0 0 nonsense:1 more:2 x", "1 2", f"0 0 {'1' * 70}:1 10.2.0.4:2 x")
    assert sockets("\n".join(lines)) == [
        Socket(OLD, DEVICE, 0x7080938A),
        Socket(NEW, DEVICE, 0x7080938A, joined=True),
        Socket(NEW, DEVICE, 0x7080938A),
        Socket(OLD, DEVICE),
        Socket(ip_address("2001:db8::5"), ip_address("2001:db8::4")),
    ]


def test_who_has_joined_and_who_is_left() -> None:
    before, after = sockets("\n".join((FIRST, PLAIN, DIRECT))), sockets("\n".join((FIRST, SECOND, PLAIN)))
    assert joined(before, [NEW]) == set() and bound(before, [OLD], [NEW]) == {0x7080938A}
    assert joined(after, [NEW]) == {0x7080938A} and bound(after, [OLD], [NEW]) == set()
    assert plain(after, [OLD]) == 1 and plain(after, [NEW]) == 0


@given(st.text(max_size=200))
def test_anything_can_be_read(text: str) -> None:
    assert isinstance(sockets(text), list)


def test_a_state_in_front_is_passed_over() -> None:
    assert sockets("\n".join(f"ESTAB  {line}" for line in (FIRST, PLAIN))) == sockets(f"{FIRST}\n{PLAIN}")


@pytest.mark.parametrize("token", ["", "x", "1" * 11, "1" * 5000, "(id:0)"])
def test_a_token_that_is_none_leaves_a_plain_socket(token: str) -> None:
    assert sockets(FIRST.replace("7080938a", token)) == [Socket(OLD, DEVICE)]


WORST = {
    "digits": lambda n: "1" * n,
    "digits and blanks": lambda n: "1 " * (n // 2),
    "a socket without end": lambda n: "0 0 " + "1" * n + ":1 ",
    "colons": lambda n: "0 0 " + ":1" * (n // 2) + " " + ":1" * (n // 2),
    "flags": lambda n: FIRST[:40] + "tcp-ulp-mptcp flags:" * (n // 20),
    "tokens": lambda n: FIRST[:40] + " tcp-ulp-mptcp flags:J token:" + "0" * n,
    "lines": lambda n: "1 1 1\n" * (n // 6),
}
"""Texts of about n characters by which a guest could keep its cloudlet's agent busy."""


@pytest.mark.parametrize("shape", WORST)
def test_twice_as_much_takes_twice_as_long_at_most(shape: str) -> None:
    """Only the ratio counts: quadratic work takes sixteen times as long for four times the text."""
    short, long = (WORST[shape](n) for n in (4_000, 16_000))
    ratio = min(repeat(lambda: sockets(long), number=50, repeat=5)) / min(
        repeat(lambda: sockets(short), number=50, repeat=5)
    )
    assert ratio < 9
