"""What `ss` prints of a guest's connections."""

from ipaddress import ip_address

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
    assert sockets("\n".join((FIRST, SECOND, ASKED, PLAIN, SIX, "", "0 0 nonsense:1 more:2 x"))) == [
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
