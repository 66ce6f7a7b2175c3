"""Offers are no promises: clients that only ask take no address from others."""

from agents.leases.book import Book
from agents.leases.room import OFFERED
from controller.wire.delegations import Block, Client

PAIRS = 16


def client(number: int) -> Client:
    return Client(mac=f"02:00:5e:00:{number >> 8:02x}:{number & 255:02x}")


def book() -> Book:
    made = Book()
    made.seconds = made.longest = 600
    made.room.add([Block(number=n, first=8 * n, pairs=8) for n in range(PAIRS // 8)], ())
    return made


def test_a_flood_of_discovers_keeps_nobody_from_a_lease() -> None:
    lan, now = book(), 1000.0
    for number in range(3 * PAIRS):
        assert lan.offer(client(number), None, now + number * OFFERED / 1000) is not None
    good, now = client(999), now + 1
    offered = lan.offer(good, None, now)
    assert offered is not None
    assert lan.grant(good, None, offered[:2], False, now) == offered


def test_an_offer_that_was_made_again_to_another_is_the_other_s() -> None:
    lan, now = book(), 1000.0
    first = [lan.offer(client(number), None, now) for number in range(PAIRS)]
    assert None not in first and len({offer[0] for offer in first if offer}) == PAIRS
    late = lan.offer(client(500), None, now + 1)
    assert late == first[0], "the oldest offer"
    assert late is not None and lan.grant(client(500), None, late[:2], False, now + 1) == late
    other = lan.grant(client(0), None, late[:2], False, now + 1)
    assert other is not None and other[0] != late[0], "the first has another, and is refused this one"


def test_leases_are_taken_from_nobody() -> None:
    lan, now = book(), 1000.0
    for number in range(PAIRS):
        offered = lan.offer(client(number), None, now)
        assert offered is not None and lan.grant(client(number), None, offered[:2], False, now) == offered
    assert lan.offer(client(500), None, now + 1) is None
