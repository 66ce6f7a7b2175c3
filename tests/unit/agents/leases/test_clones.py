"""The agent reports machines that were copied with their client id, and no machines whose network card was replaced."""

import pytest

from agents.leases.clones import WINDOW, Clones
from controller.wire.delegations import Client

ONE, OTHER, THIRD = (f"02:00:5e:00:00:0{n}" for n in (1, 2, 3))


def seen(*macs: str, every: float = 1.0, client_id: str = "01aa") -> Clones:
    clones = Clones()
    for number, mac in enumerate(macs):
        clones.note(Client(mac=mac, client_id=client_id), number * every)
    return clones


def test_two_that_take_turns_are_told_of_once_with_both() -> None:
    for times in (3, 4, 100):
        [finding] = seen(*([ONE, OTHER] * 50)[:times]).findings("c1-lan", 100.0)
        assert (finding.kind, finding.endpoint, finding.found) == ("cloned-client", "c1-lan", f"{ONE} and {OTHER}")
        assert finding.text.startswith(f"{ONE} and {OTHER} at c1-lan come with one client id (01aa)")


@pytest.mark.parametrize("macs", [[ONE], [ONE, ONE, ONE], [ONE, OTHER], [ONE, ONE, OTHER, OTHER], [ONE, OTHER, THIRD]])
def test_another_card_is_no_other_machine(macs: list[str]) -> None:
    assert not seen(*macs).findings("c1-lan", 10.0)


def test_a_card_that_is_put_back_the_next_day_is_no_other_machine() -> None:
    assert not seen(ONE, OTHER, ONE, every=WINDOW + 1).findings("c1-lan", 2 * WINDOW + 3)


def test_it_is_over_when_they_are_told_apart() -> None:
    assert not seen(ONE, OTHER, ONE).findings("c1-lan", WINDOW + 10)


def test_many_client_ids_take_bounded_room_and_a_long_one_is_cut() -> None:
    clones = Clones()
    for number in range(5_000):
        for mac in (ONE, OTHER, ONE):
            clones.note(Client(mac=mac, client_id=f"{number:0510x}"), 1.0)
    assert len(clones._watched) <= 4096
    found = clones.findings("c1-lan", 2.0)
    assert len(found) == 100 and all(len(finding.subject) == 65 for finding in found)
