"""`make bench-leases`: its default options, and its verdict."""

from typing import Any

import pytest

from tests.bench.leases import BAR, asked, bar, double, verdict


def row(per_second: float, twice: int = 0, way: str = "ranges") -> dict[str, Any]:
    return {
        "what": "new clients",
        "way": way,
        "controllers": 2,
        "offered": 2500.0,
        "per_second": per_second,
        "double": twice,
    }


def test_as_it_is_it_offers_more_than_the_bar_for_a_minute() -> None:
    options = asked([])
    assert options.rate > BAR and options.seconds >= 60 and 2 in options.controllers
    assert "No more than is offered" not in verdict([row(2100.0)])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--seconds 1000 --agents 20", "2,501,875 new clients find 589,780 pairs"),
        ("--agents 300", "--agents: 1 to 250"),
    ],
)
def test_more_clients_than_addresses_are_refused(
    arguments: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        asked(arguments.split())
    assert words in capsys.readouterr().err


def test_the_bar() -> None:
    assert [bar(one) for one in (row(2000), row(1999), row(2000, 1), row(99, 0, "plain"))] == ["yes", "no", "no", "-"]
    assert "Missed: new clients, 2 controllers: 1,900/s of 2,500 offered, 0 given twice." in verdict([row(1900)])


def test_an_address_is_twice_where_two_believe_to_have_it() -> None:
    promised = [("10.1.0.2", "a"), ("10.1.0.2", "b"), ("10.1.0.4", "c"), ("10.1.0.6", "d"), ("10.1.0.8", "e")]
    assert double(promised, {"10.1.0.4": "x", "10.1.0.6": "d", "10.1.0.9": "z"}) == {"10.1.0.2", "10.1.0.4"}
