"""An address that a client finds in use by another host is not given out for a time."""

from typing import Any

import pytest

from agents.leases.book import Answer, Book
from agents.leases.pair import Kind
from agents.leases.quarantine import MOST_OF_CLIENT, QUARANTINE, SHARE
from controller.wire.delegations import Block, Client, Known

PAIRS = 64


def client(number: int) -> Client:
    return Client(mac=f"02:00:5e:00:00:{number:02x}")


PHONE, MACHINE = client(1), client(2)


class Disk:
    """A book, and the records of it that are kept."""

    def __init__(self) -> None:
        self.now, self.records = 1000.0, dict[tuple[str, str], Any]()
        self.book = Book()
        self.book.seconds = self.book.longest = 600
        self.book.room.add([Block(number=n, first=8 * n, pairs=8) for n in range(PAIRS // 8)], ())

    def lease(self, of: Client) -> Answer:
        offered = self.book.offer(of, None, self.now)
        assert offered is not None
        granted = self.book.grant(of, None, (offered[0], offered[1]), False, self.now)
        assert granted == offered
        return granted

    def know(self, number: int | None) -> None:
        self.book.learn(Known(device="m1", number=number, md=PHONE, vm=MACHINE), self.now)

    def start_again(self, proven: bool) -> None:
        for table, key, value in self.book.records():
            if value is None:
                self.records.pop((table, key), None)
            else:
                self.records[table, key] = value
        self.book = Book.kept(self.records, proven, self.now)


@pytest.fixture
def disk() -> Disk:
    return Disk()


def test_the_device_has_another_pair_and_nobody_else_has_this_one(disk: Disk) -> None:
    number, kind, _ = disk.lease(PHONE)
    assert disk.book.decline(PHONE, number, kind, disk.now)
    again, *_ = disk.lease(PHONE)
    others = {disk.lease(client(10 + n))[0] for n in range(PAIRS - 2)}
    assert number not in {again} | others
    assert disk.book.offer(client(200), None, disk.now) is None, "all others are taken"
    disk.now += QUARANTINE + 1
    disk.book.tidy(disk.now)
    assert disk.lease(client(200))[0] == number


def test_the_controllers_word_of_yesterday_does_not_bring_it_back(disk: Disk) -> None:
    disk.know(None)
    number, kind, _ = disk.lease(PHONE)
    disk.book.decline(PHONE, number, kind, disk.now)
    disk.know(number)
    assert disk.lease(PHONE)[0] != number


@pytest.mark.parametrize(("declines", "goes_on"), [("md", "vm"), ("vm", "md")])
def test_half_a_pair_is_held_back_while_the_other_is_leased(disk: Disk, declines: Kind, goes_on: Kind) -> None:
    disk.know(None)
    of = {"md": PHONE, "vm": MACHINE}
    number, *_ = disk.lease(PHONE)
    assert disk.lease(MACHINE)[0] == number
    assert disk.book.decline(of[declines], number, declines, disk.now)
    assert disk.book.offer(of[declines], None, disk.now) is None
    renewed = disk.book.grant(of[goes_on], None, (number, goes_on), True, disk.now + 60)
    assert renewed is not None and renewed[:2] == (number, goes_on)
    [told] = disk.book.room.quarantine.untold(disk.now)
    assert (told.number, told.kind, told.whole) == (number, declines, False)


def test_nobody_else_is_believed(disk: Disk) -> None:
    number, kind, _ = disk.lease(PHONE)
    assert not disk.book.decline(client(9), number, kind, disk.now)
    assert not disk.book.decline(PHONE, number + 1, kind, disk.now)
    assert not disk.book.decline(PHONE, number, kind, disk.now + 601), "its lease is over"
    assert disk.lease(PHONE)[0] == number


def test_a_client_that_declines_everything_is_believed_a_few_times(disk: Disk) -> None:
    for _ in range(MOST_OF_CLIENT):
        assert disk.book.decline(PHONE, *disk.lease(PHONE)[:2], disk.now)
    last = disk.lease(PHONE)
    assert not disk.book.decline(PHONE, *last[:2], disk.now)
    assert disk.lease(PHONE) == last


def test_many_clients_that_decline_everything_leave_a_lan_most_of_its_pairs(disk: Disk) -> None:
    believed = sum(disk.book.decline(client(n), *disk.lease(client(n))[:2], disk.now) for n in range(10, 40))
    assert believed == PAIRS // SHARE


@pytest.mark.parametrize("proven", [True, False])
def test_it_is_known_after_a_restart(disk: Disk, proven: bool) -> None:
    number, kind, _ = disk.lease(PHONE)
    disk.book.decline(PHONE, number, kind, disk.now)
    disk.start_again(proven)
    assert disk.book.room.quarantine.withholds(number)
    assert [told.number for told in disk.book.room.quarantine.untold(disk.now)] == [number]
    disk.book.room.quarantine.heard([number])
    disk.start_again(proven)
    assert disk.book.room.quarantine.withholds(number)
    assert not disk.book.room.quarantine.untold(disk.now)


def test_what_is_freed_is_no_sooner_than_whoever_leased_it_was_promised(disk: Disk) -> None:
    disk.book.seconds = disk.book.longest = int(3 * QUARANTINE)
    number, kind, _ = disk.lease(PHONE)
    disk.book.decline(PHONE, number, kind, disk.now)
    disk.now += 2 * QUARANTINE
    disk.book.tidy(disk.now)
    assert disk.book.room.quarantine.withholds(number)
