"""The MACs that are at two places of a LAN."""

import pytest

from agents.mac_moves.places import QUIET, WINDOW, MacPlace, Places

MAC = "02:00:5e:00:00:01"
HERE, THERE, ELSEWHERE = MacPlace("md1"), MacPlace("c2-lan", tunnel=True), MacPlace("c3-lan", tunnel=True)


def flap(places: Places, *between: MacPlace, moves: int = 5, every: float = 1.0, mac: str = MAC) -> list[bool]:
    """Return the verdict on each move, from the first on."""
    return [places.note(mac, between[i % len(between)], i * every) for i in range(moves + 1)][1:]


@pytest.mark.parametrize("between", [(HERE, THERE), (THERE, ELSEWHERE)])
def test_the_fifth_move_within_the_window_is_a_duplicate_and_is_told_once(between: tuple[MacPlace, MacPlace]) -> None:
    places = Places()
    assert flap(places, *between, moves=8) == [False] * 4 + [True] + [False] * 3
    (finding,) = places.findings("c1-lan")
    assert (finding.kind, finding.subject, finding.endpoint) == ("mac-duplicate", MAC, "c1-lan")
    assert all(str(place) in finding.found and str(place) in finding.text for place in between)


def test_four_moves_or_slow_ones_are_none() -> None:
    assert not any(flap(Places(), HERE, THERE, moves=4))
    assert not any(flap(Places(), HERE, THERE, moves=50, every=WINDOW / 4 + 1))


def test_the_window_ends_with_its_last_second() -> None:
    assert any(flap(Places(), HERE, THERE, every=WINDOW / 4))


def test_a_machine_that_goes_from_port_to_port_is_none() -> None:
    assert not any(flap(Places(), HERE, MacPlace("md2"), moves=50))


def test_what_is_seen_where_it_was_is_no_move() -> None:
    places = Places()
    assert not any(places.note(MAC, HERE, i) for i in range(50)) and not places.findings("c1-lan")


def test_the_text_stays_the_same_though_there_is_a_third_place() -> None:
    places = Places()
    flap(places, HERE, THERE)
    before = places.findings("c1-lan")
    flap(places, THERE, ELSEWHERE, moves=9)
    assert places.findings("c1-lan") == before


def test_it_clears_itself_after_a_quiet_time() -> None:
    places = Places()
    flap(places, HERE, THERE)
    assert not places.lapse(5 + QUIET - 1) and places.findings("c1-lan")
    assert places.lapse(5 + QUIET) and not places.findings("c1-lan")
    assert not places.lapse(6 + QUIET)


def test_a_device_that_makes_up_macs_hides_none_of_other_places() -> None:
    places = Places()
    noise = MacPlace("md2")
    for move in range(6):
        for i in range(2000):
            places.note(f"02:66:00:{move:02x}:{i >> 8:02x}:{i & 255:02x}", noise, float(move))
        places.note(MAC, (HERE, THERE)[move % 2], float(move))
    assert [finding.subject for finding in places.findings("c1-lan")] == [MAC]


def test_memory_is_bounded() -> None:
    places = Places()
    for i in range(5000):
        places.note(f"02:66:00:00:{i >> 8:02x}:{i & 255:02x}", HERE, 0.0)
        flap(places, HERE, THERE, mac=f"02:67:00:00:{i >> 8:02x}:{i & 255:02x}")
        places.note(MAC, MacPlace(f"x{i}"), 0.0)
    assert len(places._where) == sum(map(len, places._at.values())) <= 1024 * 3
    assert len(places._at) <= 1024 and len(places._movers) <= 256 and len(places.findings("c1-lan")) <= 20
