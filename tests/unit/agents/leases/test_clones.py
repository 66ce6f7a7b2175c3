"""Machines that were copied with their client id are told of, and those that have changed a card are not."""

import pytest

from agents.leases.clones import WINDOW, Clones
from controller.wire.delegations import Client, Cloned

ONE, OTHER, THIRD = (f"02:00:5e:00:00:0{n}" for n in (1, 2, 3))


def seen(*macs: str, every: float = 1.0) -> Clones:
    clones = Clones()
    for number, mac in enumerate(macs):
        clones.note(Client(mac=mac, client_id="01aa"), number * every)
    return clones


def test_two_that_take_turns_are_told_of_once() -> None:
    clones = seen(*[ONE, OTHER] * 50)
    assert list(clones.untold.values()) == [Cloned(client_id="01aa", macs=(ONE, OTHER))]
    [text] = clones.found(100.0)
    assert ONE in text and OTHER in text and "machine-id" in text
    clones.heard(list(clones.untold.values()))
    assert not clones.untold


@pytest.mark.parametrize("macs", [[ONE], [ONE, ONE, ONE], [ONE, OTHER], [ONE, ONE, OTHER, OTHER], [ONE, OTHER, THIRD]])
def test_another_card_is_no_other_machine(macs: list[str]) -> None:
    clones = seen(*macs)
    assert not clones.untold and not clones.found(10.0)


def test_a_card_that_is_put_back_the_next_day_is_no_other_machine() -> None:
    assert not seen(ONE, OTHER, ONE, every=WINDOW + 1).untold


def test_it_is_over_when_they_are_told_apart() -> None:
    assert not seen(ONE, OTHER, ONE).found(WINDOW + 10)


def test_many_client_ids_take_bounded_room() -> None:
    clones = Clones()
    for number in range(20_000):
        for mac in (ONE, OTHER, ONE):
            clones.note(Client(mac=mac, client_id=f"{number:08x}"), float(number))
    assert len(clones._watched) <= 4096 and len(clones.untold) <= 100
