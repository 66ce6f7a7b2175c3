"""Who has to prove its name again, and who loses the tunnel."""

from hypothesis import given
from hypothesis import strategies as st

from agents.ipsec.doubt import FOLLOW, LEAD, LIMIT, Act, Doubts

NEWS = 1000.0


def doubted() -> Doubts:
    doubts = Doubts()
    doubts.begin(["weft-c2"], NEWS)
    return doubts


def due(doubts: Doubts, seconds: float, age: int | None, leads: bool = True) -> list[tuple[str, Act]]:
    """So many seconds after the news."""
    return list(doubts.due(NEWS + seconds, {"weft-c2": age}, {"weft-c2": leads}))


def test_the_end_that_leads_asks_and_the_other_a_while_later() -> None:
    for leads, asks in ((True, LEAD), (False, FOLLOW)):
        doubts = doubted()
        assert due(doubts, asks - 0.1, 60, leads) == []
        assert due(doubts, asks, 60, leads) == [("weft-c2", Act.ASK)]


def test_nobody_is_asked_twice() -> None:
    doubts = doubted()
    assert due(doubts, LEAD, 60) and due(doubts, LEAD + 1, 61) == []


def test_a_peer_is_not_to_blame_for_time_in_which_this_end_stood_still() -> None:
    doubts = doubted()
    assert due(doubts, LEAD, 60) == [("weft-c2", Act.ASK)]
    assert due(doubts, LIMIT + 30, 99) == []
    for second in range(1, int(LIMIT) - 1):
        assert due(doubts, LIMIT + 30 + second, 99) == []
    assert due(doubts, 2 * LIMIT + 30, 99) == [("weft-c2", Act.END)] and not doubts


def test_who_has_no_tunnel_is_in_no_doubt() -> None:
    doubts = doubted()
    assert due(doubts, 0.0, None) == [] and not doubts


@given(st.floats(0, 60), st.floats(LEAD, 20), st.booleans())
def test_a_tunnel_ends_if_and_only_if_it_was_not_proved_since(before: float, after: float, leads: bool) -> None:
    """`before` the news the tunnel was made; `after` it, it was proved, if that was in time."""
    doubts, ended, proved = doubted(), False, after < LIMIT - 0.1
    for tenth in range(120):
        now = tenth / 10
        age = int(now - after) if proved and now >= after else int(now + before)
        ended = ended or ("weft-c2", Act.END) in due(doubts, now, age, leads)
    assert ended is not proved and not doubts


def test_news_while_somebody_proves_itself_begin_it_anew() -> None:
    doubts = doubted()
    due(doubts, LEAD, 60)
    doubts.begin(["weft-c2"], NEWS + 3)
    assert due(doubts, 3 + LEAD, 2) == [("weft-c2", Act.ASK)]
