"""Which targets a LAN probes, when, and the meaning of silence."""

from random import Random

from agents.passages.table import AGAIN, FORBIDDEN, GRACE, INTERVAL, MISSES, WAIT, Table
from agents.passages.targets import Target, targets
from tests.unit.agents.desires import desired, dual, endpoint, remote

FAR, OTHER = endpoint(2), endpoint(3)
STATE = desired(endpoint(1, remotes=[remote(FAR)]), endpoint(9, index=2, remotes=[remote(OTHER)]))
MAC = "02:57:00:00:00:02"


def test_allowed_and_forbidden_are_asked() -> None:
    """A remote of another LAN of the cloudlet is forbidden; gateways have the first address."""
    found = {(t.lan.endpoint, t.remote): (t.address, t.allowed) for t in targets(STATE)}
    assert found == {
        ("e1", "e2"): ("10.2.0.1", True),
        ("e1", "e3"): ("10.3.0.1", False),
        ("e9", "e2"): ("10.2.0.1", False),
        ("e9", "e3"): ("10.3.0.1", True),
    }


def test_both_families_are_asked_where_both_ends_have_both() -> None:
    far, plain = endpoint(2, **dual(2)), endpoint(3)
    own = endpoint(1, remotes=[remote(far), remote(plain)], **dual(1))
    found = {(t.remote, t.lan.version): (t.lan.gateway, t.address) for t in targets(desired(own))}
    assert found == {
        ("e2", 4): ("10.1.0.1", "10.2.0.1"),
        ("e2", 6): ("2001:db8:1::1", "2001:db8:2::1"),
        ("e3", 4): ("10.1.0.1", "10.3.0.1"),
    }
    only6 = endpoint(1, prefix="2001:db8:1::/64", gateway="2001:db8:1::1", remotes=[remote(far), remote(plain)])
    assert [(t.remote, t.address) for t in targets(desired(only6))] == [("e2", "2001:db8:2::1")]


def test_each_family_has_its_own_verdict() -> None:
    far = endpoint(2, **dual(2))
    state = desired(endpoint(1, remotes=[remote(far)], **dual(1)))
    table, now = Table(Random(7)), 0.0
    table.intend(targets(state), now)
    while now < GRACE * 2 + MISSES * (AGAIN * 1.2 + WAIT):
        now += 0.5
        for target, _ in table.due(now):
            if target.lan.version == 4:
                table.answered("e1", target.address, MAC, now)
        table.lapse(now)
    assert {p.family: p.verdict for p in table.passages("e1")} == {"ipv4": "passes", "ipv6": "silent"}


class Run:
    """A table with a clock that the test moves."""

    def __init__(self, *wanted: Target) -> None:
        self.table, self.now, self.asked = Table(Random(7)), 0.0, list[tuple[str, str | None]]()
        self.table.intend(wanted, self.now)

    def on(self, seconds: float, answers: bool, mac: str = MAC) -> None:
        until = self.now + seconds
        while self.now < until:
            self.now += 0.5
            for target, known in self.table.due(self.now):
                self.asked.append((target.address, known))
                if answers:
                    self.table.answered(target.lan.endpoint, target.address, mac, self.now)
            self.table.lapse(self.now)

    def last(self) -> tuple[str, str | None]:
        return self.asked[-1]

    def verdict(self) -> str | None:
        found = self.table.passages("e1")
        return found[0].verdict if found else None


ALLOWED, DENIED = (
    next(t for t in targets(STATE) if t.lan.endpoint == "e1" and t.allowed is way) for way in (True, False)
)


def test_a_pair_is_silent_after_several_misses_and_passes_after_one_answer() -> None:
    run = Run(ALLOWED)
    run.on(GRACE - 1, answers=False)
    assert run.asked == [] and run.verdict() is None
    run.on(GRACE + 2, answers=True)
    assert run.verdict() == "passes" and run.asked == [("10.2.0.1", None)]
    run.on(INTERVAL * 1.2, answers=True)
    assert run.last() == ("10.2.0.1", MAC), "not everybody is asked again"
    count = len(run.asked)
    while len(run.asked) < count + MISSES - 1:
        run.on(1, answers=False)
    run.on(WAIT + 0.5, answers=False)
    assert run.verdict() == "passes", "a part that is killed and comes back is no difference"
    assert run.last() == ("10.2.0.1", None), "the gateway may have another MAC"
    run.on(AGAIN * 1.2 + WAIT, answers=False)
    assert run.verdict() == "silent"
    run.on(AGAIN * 1.2 + WAIT, answers=True)
    assert run.verdict() == "passes"


def test_who_must_not_answer_is_asked_rarely_and_only_a_gateway_counts() -> None:
    run = Run(DENIED)
    run.on(GRACE * 2 + MISSES * (AGAIN * 1.2 + WAIT), answers=False)
    assert run.verdict() == "silent" and len(run.asked) == MISSES
    run.on(FORBIDDEN * 1.2, answers=True, mac="02:00:5e:00:00:01")
    assert run.verdict() == "silent", "a device may call itself whatever it likes"
    run.on(FORBIDDEN * 1.2, answers=True)
    assert run.verdict() == "passes"


def test_who_stays_goes_on_and_who_leaves_is_forgotten() -> None:
    run = Run(ALLOWED, DENIED)
    run.on(GRACE * 2 + 1, answers=True)
    run.table.intend([ALLOWED], run.now)
    assert [p.remote for p in run.table.passages("e1")] == ["e2"]
    run.table.intend([], run.now)
    assert run.table.passages("e1") == [] and run.table.next() is None
