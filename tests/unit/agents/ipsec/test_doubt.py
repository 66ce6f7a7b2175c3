"""Which peers must authenticate again, and which lose the tunnel."""

from hypothesis import given
from hypothesis import strategies as st

from agents.ipsec.reauthentication import AGAIN, EVERY, FOLLOW, LEAD, LIMIT, PATIENCE, SPREAD, Act, Reauthentication

NEWS = 1000.0
C2 = "weft-c2"
ASK, REPLACE, END = [(C2, Act.ASK)], [(C2, Act.REPLACE)], [(C2, Act.END)]


def doubted(leads: bool = True) -> Reauthentication:
    doubts = Reauthentication()
    doubts.begin({C2: leads}, NEWS)
    return doubts


def due(doubts: Reauthentication, seconds: float, up: bool = True, proving: bool = False) -> list[tuple[str, Act]]:
    """Return the acts that are due, `seconds` after the news."""
    return list(doubts.due(NEWS + seconds, [C2] * up, [C2] * proving))


def watched(doubts: Reauthentication, begin: float, end: float) -> list[tuple[float, Act]]:
    """Check every second from `begin` to `end`, in seconds after the news; return the acts and their times."""
    return [(begin + n, act) for n in range(int(end - begin)) for _, act in due(doubts, begin + n)]


# --- After a revocation


def test_the_end_that_leads_asks_and_the_other_a_while_later() -> None:
    for leads, asks in ((True, LEAD), (False, FOLLOW)):
        doubts = doubted(leads)
        assert due(doubts, asks - 0.1) == []
        assert due(doubts, asks) == ASK


def test_nobody_is_asked_twice() -> None:
    doubts = doubted()
    assert due(doubts, LEAD) == ASK and watched(doubts, LEAD + 1, LIMIT) == []


def test_nobody_is_asked_while_a_proof_of_before_is_there() -> None:
    """charon would take the earlier SA for the requested one."""
    doubts = doubted()
    assert due(doubts, LEAD, proving=True) == [] and due(doubts, LEAD + 1) == ASK


def test_who_refuses_is_asked_in_the_old_way_once() -> None:
    doubts = doubted()
    doubts.refused(C2)
    assert due(doubts, LEAD) == ASK, "it was not asked when it refused"
    doubts.refused(C2)
    assert due(doubts, LEAD + 1) == REPLACE and due(doubts, LEAD + 2) == []
    assert due(doubts, LIMIT - 1) == [] and due(doubts, LIMIT) == END


def test_a_peer_is_not_to_blame_for_time_in_which_this_end_stood_still() -> None:
    doubts = doubted()
    assert due(doubts, LEAD) == ASK
    assert due(doubts, LIMIT + 30) == []
    assert watched(doubts, LIMIT + 31, 2 * LIMIT + 29) == []
    assert due(doubts, 2 * LIMIT + 30) == END and not doubts.active(NEWS + 2 * LIMIT + 30)


def test_who_was_not_let_in_yet_is_in_no_doubt() -> None:
    doubts = doubted()
    assert due(doubts, 0.0, up=False) == [] and doubts.active(NEWS), "it may be let in by what charon had before"
    assert due(doubts, LEAD, up=False) == [] and not doubts.active(NEWS + LEAD)


@given(st.floats(0, 20), st.booleans())
def test_a_tunnel_ends_if_and_only_if_it_was_not_proved_since(after: float, leads: bool) -> None:
    """The peer authenticates `after` seconds after the news. In the first second that does not count, as it may have
    begun before the news."""
    doubts, ended = doubted(leads), False
    for tenth in range(120):
        if tenth == int(after * 10) + 1:
            doubts.proved(C2, leads, NEWS + after)
        ended = ended or due(doubts, tenth / 10) == END
    assert ended is not (LEAD <= after < LIMIT - 0.1) and not doubts.active(NEWS + 12)


def test_news_while_somebody_proves_itself_begin_it_anew() -> None:
    doubts = doubted()
    due(doubts, LEAD)
    doubts.begin({C2: True}, NEWS + 3)
    doubts.proved(C2, True, NEWS + 3.1)
    assert due(doubts, 3 + LEAD) == ASK


# --- Every two hours


@given(st.floats(0, 1, exclude_max=True), st.booleans())
def test_every_peer_is_asked_every_two_hours_and_by_the_other_end_a_quarter_later(chance: float, leads: bool) -> None:
    doubts = Reauthentication(lambda: chance)
    doubts.proved(C2, leads, NEWS)
    at = EVERY * (0.9 + 0.2 * chance + (0 if leads else 0.25))
    assert due(doubts, at - 1) == [] and not doubts.active(NEWS + at - 1)
    assert due(doubts, at + 0.1) == ASK and doubts.active(NEWS + at + 0.1)
    doubts.proved(C2, leads, NEWS + at + 0.2)
    assert not doubts.active(NEWS + at + 1)
    assert due(doubts, 2 * at - 1) == [] and due(doubts, 2 * at + 0.3) == ASK


def test_who_cannot_is_asked_again_and_loses_the_tunnel() -> None:
    doubts = Reauthentication(lambda: 0.5)
    doubts.proved(C2, True, NEWS)
    done = watched(doubts, EVERY - 1, EVERY + PATIENCE + 2)
    assert [act for _, act in done] == [Act.ASK] * int(PATIENCE / AGAIN) + [Act.END]
    assert done[0][0] == EVERY and done[-1] == (EVERY + PATIENCE, Act.END)


@given(st.floats(0, 1, exclude_max=True))
def test_whose_proof_is_not_known_is_asked_within_minutes(chance: float) -> None:
    doubts = Reauthentication(lambda: chance)
    first, *_ = watched(doubts, 0, SPREAD + 2)
    assert first[1] is Act.ASK


def test_a_tunnel_that_is_proved_before_it_is_seen_is_not_asked() -> None:
    """The notification of the authentication comes before the first look at the tunnels."""
    doubts = Reauthentication(lambda: 0.0)
    doubts.proved(C2, True, NEWS)
    assert due(doubts, 0.1, up=False) == [] and watched(doubts, 1, SPREAD) == []


def test_what_becomes_due_between_two_looks_is_not_late_by_more() -> None:
    """Looks are further apart while no peer has to authenticate."""
    doubts = Reauthentication(lambda: 0.5)
    doubts.proved(C2, True, NEWS)
    due(doubts, EVERY - 4)
    assert due(doubts, EVERY + 1) == ASK
    watched(doubts, EVERY + 2, EVERY + PATIENCE)
    assert due(doubts, EVERY + PATIENCE + 1) == END
