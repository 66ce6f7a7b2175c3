"""The rate limit, with a simulated clock."""

from agents.dhcp.pace import Pace


def test_a_burst_and_then_the_rate() -> None:
    pace = Pace(burst=3, rate=1)
    assert [pace.allows(b"a", 0.0) for _ in range(4)] == [True, True, True, False]
    assert not pace.allows(b"a", 0.5)
    assert pace.allows(b"a", 1.5)
    assert not pace.allows(b"a", 1.6)


def test_refused_messages_do_not_cost_tokens() -> None:
    pace = Pace(burst=1, rate=1)
    assert pace.allows(b"a", 0.0)
    assert not any(pace.allows(b"a", t / 10) for t in range(9))
    assert pace.allows(b"a", 1.0)


def test_clients_do_not_share() -> None:
    pace = Pace(burst=1, rate=0)
    assert pace.allows(b"a", 0.0)
    assert pace.allows(b"b", 0.0)


def test_memory_is_bounded_and_the_quietest_is_forgotten() -> None:
    pace = Pace(burst=1, rate=0, clients=2)
    for client in (b"a", b"b", b"a", b"c"):
        pace.allows(client, 0.0)
    assert not pace.allows(b"a", 0.0)
    assert pace.allows(b"b", 0.0)
