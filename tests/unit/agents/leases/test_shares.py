"""The clients of one port do not use up a LAN's pairs before those of other ports have any."""

import pytest

from agents.leases.book import Book
from agents.leases.shares import TOLD, Ports, Shares
from controller.wire.delegations import Block, Client, Known

PAIRS = 64
NOISY, QUIET = "port1", "port2"


def port(mac: str) -> str | None:
    """Return the port of a MAC: the noisy one for 02:01, the quiet one for 02:02, None for others."""
    return {"02:01": NOISY, "02:02": QUIET}.get(mac[:5])


def client(number: int, at: str = "01") -> Client:
    return Client(mac=f"02:{at}:00:00:{number >> 8:02x}:{number & 255:02x}", client_id=None)


def book(ports: int = 2) -> Book:
    new = Book()
    new.seconds = 600
    new.shares = Shares(Ports(port, lambda: ports))
    new.room.add([Block(number=n, first=8 * n, pairs=8) for n in range(PAIRS // 8)], new.pairs)
    return new


def leased(of: Book, clients: int, at: str = "01", now: float = 0.0) -> int:
    """Return how many of this number of new clients get a lease."""
    return sum(of.grant(client(n, at), None, None, False, now) is not None for n in range(clients))


def test_the_last_eighth_is_for_ports_that_do_not_hold_their_share() -> None:
    lan = book()
    assert leased(lan, 500) == PAIRS * 7 // 8 + 1
    assert leased(lan, 7, at="02") == 7
    [finding] = lan.shares.findings("c1-lan", 1.0)
    assert finding.kind == "pairs-hoarded" and finding.subject == NOISY and NOISY in finding.text
    assert not lan.shares.findings("c1-lan", TOLD)


def test_macs_that_the_bridge_has_not_heard_have_no_share() -> None:
    lan = book()
    leased(lan, 500)
    assert leased(lan, 500, at="03") == 0
    assert leased(lan, 7, at="02") == 7


def test_offers_count_for_nobody() -> None:
    lan = book()
    for number in range(500):
        lan.offer(client(number), None, 0.0)
    assert leased(lan, 7, at="02") == 7


def test_an_agent_that_has_just_begun_knows_nobodys_port_and_refuses_none_of_the_others() -> None:
    lan = book()
    leased(lan, 500)
    lan.shares = Shares(Ports(port, lambda: 2))
    assert leased(lan, 7, at="02") == 7 and leased(lan, 500, at="04") == 0


@pytest.mark.parametrize("at", ["01", "03"])
def test_a_lan_of_one_port_is_all_for_that_one(at: str) -> None:
    assert leased(book(ports=1), 500, at=at) == PAIRS


def test_renewals_and_registered_devices_are_not_held_to_a_share() -> None:
    lan = book()
    most = leased(lan, 500)
    number, kind, _ = lan.grant(client(0), None, None, False, 1.0) or pytest.fail("its own pair is refused")
    assert lan.grant(client(0), None, (number, kind), True, 2.0) == (number, kind, None)
    lan.learn(Known(device="alice", number=None, md=client(900), vm=None), 2.0)
    granted = lan.grant(client(900), None, None, False, 2.0)
    assert granted is not None and granted[2] == "alice" and len(lan.pairs) == most + 1


def test_what_is_given_back_counts_no_longer() -> None:
    lan = book()
    most = leased(lan, 500)
    lan.forget(list(lan.pairs), 700.0)
    assert not lan.pairs
    lan.room.count(lan.pairs)
    assert leased(lan, 500, now=700.0) == most
