"""The place at which a device is considered to be: never changed by packets alone or too often, and independent of the
order of reports."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from controller.core.intent import Intent
from controller.core.objects import Cloudlet, CloudletState, Endpoint, Vcp
from controller.core.sighting_evidence import Lease, Witnesses, Worth, follows, gateway_macs
from controller.core.sightings import CALM, MOST, DevicePlace, hold, see, settle, settles_at, turns
from controller.wire.flavours import Flavour
from controller.wire.sightings import Sighting

START = datetime(2026, 1, 1, tzinfo=UTC)
SETTLE = 2.0
MAC, OTHER = "02:00:5e:00:00:01", "02:00:5e:00:00:66"


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


class Follower:
    """A device as the controller sees it: it takes sightings, and settles in time."""

    def __init__(self, settle_seconds: float = SETTLE) -> None:
        self.place: DevicePlace | None = None
        self.moves: list[tuple[datetime, str]] = []
        self._seconds = settle_seconds

    def see(self, endpoint: str, seconds: float) -> None:
        self.until(seconds)
        self.place = see(self.place, endpoint, at(seconds), "lease")

    def until(self, seconds: float) -> None:
        if self.place is None or self.place.settled:
            return
        when = settles_at(self.place, self._seconds)
        if when <= at(seconds):
            self.place = settle(self.place, when)
            self.moves.append((when, self.place.seen_endpoint))

    def where(self, seconds: float) -> str | None:
        self.until(seconds)
        return self.place.endpoint if self.place else None

    def most_in_an_hour(self) -> int:
        times = [when for when, _ in self.moves]
        return max((sum(1 for t in times if start <= t < start + timedelta(hours=1)) for start in times), default=0)


def test_it_settles_after_a_while_and_not_before() -> None:
    device = Follower()
    device.see("c1", 0)
    assert device.where(1.9) is None and device.where(2.1) == "c1"
    device.see("c2", 100)
    assert device.where(101.9) == "c1" and device.where(102.1) == "c2"


def test_a_glimpse_elsewhere_moves_nobody() -> None:
    device = Follower()
    device.see("c1", 0)
    device.see("c2", 10)
    device.see("c1", 11)
    device.until(3600)
    assert [where for _, where in device.moves] == ["c1"]


def test_a_late_word_from_the_old_place_undoes_nothing() -> None:
    device = Follower()
    device.see("c1", 0)
    device.see("c2", 10)
    device.until(20)
    before = device.place
    assert see(before, "c1", at(9), "lease") == before
    assert see(before, "c2", at(10), "lease") == before


def test_a_late_word_of_an_excursion_makes_it_stay_longer() -> None:
    place = see(see(None, "c1", at(0), "lease"), "c1", at(8), "lease")
    known = see(place, "c2", at(5), "lease")
    assert (known.seen_endpoint, known.seen_since, known.at) == ("c1", at(8), at(8))
    assert turns(known, at(8)) == 2


@pytest.mark.parametrize("settle_seconds", [0.0, 2.0, 30.0])
def test_who_flaps_as_fast_as_it_is_followed_is_followed_24_times_an_hour_at_most(settle_seconds: float) -> None:
    """The worst case: a device moves on as soon as it was followed."""
    device, seconds = Follower(settle_seconds), 0.0
    while seconds < 6 * 3600:
        device.see("c1" if len(device.moves) % 2 else "c2", seconds)
        assert device.place is not None
        seconds = (settles_at(device.place, settle_seconds) - START).total_seconds() + 0.001
        device.until(seconds)
    assert 5 < device.most_in_an_hour() <= 24


@given(st.lists(st.floats(0.01, 600), min_size=1, max_size=200), st.integers(2, 4))
def test_nor_is_anybody_else(stays: list[float], places: int) -> None:
    device, seconds = Follower(0.0), 0.0
    for number, stay in enumerate(stays):
        device.see(f"c{number % places}", seconds)
        seconds += stay
        device.until(seconds)
    assert device.most_in_an_hour() <= 24


def test_one_that_has_flapped_all_day_is_followed_again_soon_after() -> None:
    device = Follower()
    for second in range(0, 86400, 10):
        device.see(f"c{second // 10 % 2}", second)
    moved = len(device.moves)
    device.see("c7", 86400)
    assert device.where(86400 + 17 * 60) == "c7" and len(device.moves) == moved + 1


@given(st.floats(0, MOST), st.floats(0, MOST), st.floats(0, 100))
def test_the_more_turns_the_longer_it_stays(few: float, many: float, settle_seconds: float) -> None:
    few, many = sorted((few, many))
    assert settle_seconds <= hold(few, settle_seconds) <= hold(many, settle_seconds)


@given(st.floats(0, MOST), st.floats(0, 60))
def test_when_it_settles_is_when_it_has_stayed_for_long_enough(so_many: float, settle_seconds: float) -> None:
    place = replace(see(None, "c1", at(0), "lease"), turns=so_many)
    stayed = (settles_at(place, settle_seconds) - START).total_seconds()
    left = so_many * 0.5 ** (stayed / CALM)
    assert stayed >= settle_seconds - 0.001
    assert stayed >= hold(left, settle_seconds) - 0.05
    if stayed > settle_seconds + 0.05:
        assert stayed - 0.05 <= hold(so_many * 0.5 ** ((stayed - 0.05) / CALM), settle_seconds)


Seen = tuple[float, str]


@given(
    st.lists(
        st.tuples(st.floats(0, 60), st.sampled_from(["c1", "c2", "c3"])),
        min_size=1,
        max_size=30,
        unique_by=lambda s: s[0],
    ),
    st.floats(0, 5),
    st.randoms(use_true_random=False),
)
def test_the_order_of_arrival_does_not_matter(seen: list[Seen], skew: float, chance: random.Random) -> None:
    """Reports of different agents come up to `skew` seconds late. The final place is the same."""
    ends = []
    for arrivals in (sorted(seen), sorted(seen, key=lambda one: one[0] + chance.uniform(0, skew))):
        place = None
        for seconds, endpoint in arrivals:
            place = see(place, endpoint, at(seconds), "lease")
        assert place is not None
        assert settles_at(place, SETTLE) <= place.at + timedelta(seconds=hold(MOST, SETTLE))
        ends.append((place.seen_endpoint, place.at))
    assert ends[0] == ends[1]


@pytest.mark.parametrize("order", list(permutations([(0.0, "c1"), (10.0, "c2"), (10.5, "c2")])))
def test_a_walk_ends_where_it_ends(order: tuple[Seen, ...]) -> None:
    place = None
    for seconds, endpoint in order:
        place = see(place, endpoint, at(seconds), "lease")
    assert place is not None
    settled = settles_at(place, SETTLE)
    assert place.seen_endpoint == "c2" and at(12) <= settled <= at(14)


def test_two_at_the_same_moment_are_the_same_whichever_comes_first() -> None:
    one = see(see(None, "c1", at(0), "lease"), "c2", at(0), "lease")
    other = see(see(None, "c2", at(0), "lease"), "c1", at(0), "lease")
    assert one.seen_endpoint == other.seen_endpoint == "c2"


# --- Who may say what


def _endpoint(number: int) -> Endpoint:
    return Endpoint(
        name=f"c{number}-lan",
        cloudlet=f"c{number}",
        site=number,
        index=1,
        prefix=f"10.{number}.0.0/24",
        gateway=f"10.{number}.0.1",
        prefix6=f"2001:db8:{number}::/64",
        gateway6=f"2001:db8:{number}::1",
    )


@pytest.fixture(scope="module")
def intent() -> Intent:
    cloudlets = {
        f"c{n}": Cloudlet(f"c{n}", Flavour.VPLS, f"192.0.2.{n}", state=CloudletState.ACTIVE) for n in (1, 2, 3)
    }
    endpoints = {f"c{n}-lan": _endpoint(n) for n in (1, 2, 3)}
    vcp = Vcp(name="blue", members=frozenset({"c1-lan", "c2-lan"}))
    return Intent(cloudlets=cloudlets, endpoints=endpoints, vcps={"blue": vcp})


def packet(endpoint: str, address: str, mac: str | None = MAC) -> Sighting:
    return Sighting(endpoint=endpoint, address=address, how="packet", mac=mac)


LEASE = Lease("m1", "md", "c2-lan", frozenset({MAC}), START)


def test_whose_address_it_is(intent: Intent) -> None:
    assert Witnesses(intent).home(packet("c1-lan", "10.2.0.2")) == ("c2-lan", "10.2.0.2")
    assert Witnesses(intent).home(packet("c1-lan", "10.1.0.2")) == ("c1-lan", "10.1.0.2")
    assert Witnesses(intent).home(packet("c1-lan", "2001:db8:2::4")) == ("c2-lan", "10.2.0.4")
    assert Witnesses(intent).home(packet("c1-lan", "10.3.0.2")) is None, "not in a pool with it"
    assert Witnesses(intent).home(packet("c1-lan", "10.2.0.1")) is None, "the gateway"
    lease = Sighting(endpoint="c1-lan", address="10.2.0.2", how="lease", mac=MAC)
    assert Witnesses(intent).home(lease) is None, "nobody leases another's addresses"


def test_address_mac_and_lease_agree_or_do_not(intent: Intent) -> None:
    seen = packet("c1-lan", "10.2.0.2")
    assert Witnesses(intent).judge(seen, None) is Worth.UNKNOWN
    assert Witnesses(intent).judge(seen, LEASE) is Worth.SEEN
    assert Witnesses(intent).judge(seen, replace(LEASE, kind="vm")) is Worth.VM
    spoofed = seen.model_copy(update={"mac": OTHER})
    assert Witnesses(intent).judge(spoofed, LEASE) is Worth.SPOOFED
    forwarded = seen.model_copy(update={"mac": min(gateway_macs(intent, "c1-lan"))})
    assert Witnesses(intent).judge(forwarded, LEASE) is Worth.SEEN
    assert Witnesses(intent).judge(forwarded.model_copy(update={"how": "lease"}), LEASE) is Worth.SPOOFED
    assert len(gateway_macs(intent, "c1-lan")) == 2 and len(gateway_macs(intent, "c3-lan")) == 1


def test_it_follows_its_pools_only(intent: Intent) -> None:
    assert (
        follows(intent, "c2-lan", "c1-lan") and follows(intent, "c1-lan", "c1-lan") and follows(intent, "c3-lan", None)
    )
    assert not follows(intent, "c3-lan", "c1-lan") and not follows(intent, "c9-lan", None)


ADDRESSES = st.one_of(
    st.builds("10.{}.0.{}".format, st.integers(1, 3), st.integers(0, 255)),
    st.ip_addresses().map(str).filter(lambda text: "%" not in text),
)
PACKETS = st.builds(
    packet,
    st.sampled_from(["c1-lan", "c2-lan", "c3-lan"]),
    ADDRESSES,
    st.one_of(st.none(), st.sampled_from([MAC, OTHER]), st.builds("02:00:5e:00:00:{:02x}".format, st.integers(0, 255))),
)


@given(st.lists(PACKETS, max_size=50))
@example([packet("c2-lan", "10.1.0.2")])
@example([packet("c1-lan", "10.2.0.2")])
def test_packets_alone_never_move_anybody(sent: list[Sighting]) -> None:
    """For any packets from any sender, without a new lease, m1 stays at the place of its latest lease."""
    cloudlets = {
        f"c{n}": Cloudlet(f"c{n}", Flavour.VPLS, f"192.0.2.{n}", state=CloudletState.ACTIVE) for n in (1, 2, 3)
    }
    vcp = Vcp(name="blue", members=frozenset({"c1-lan", "c2-lan"}))
    intent = Intent(cloudlets=cloudlets, endpoints={f"c{n}-lan": _endpoint(n) for n in (1, 2, 3)}, vcps={"blue": vcp})
    old, new = replace(LEASE, endpoint="c1-lan", since=at(-500)), replace(LEASE, since=at(0))
    held = {("c1-lan", "10.1.0.2"): old, ("c2-lan", "10.2.0.2"): new}
    place = settle(see(see(None, "c1-lan", at(-500), "lease"), "c2-lan", at(0), "lease"), at(2))
    for sighting in sent:
        where = Witnesses(intent).home(sighting)
        lease = held.get(where) if where else None
        if lease is not None and Witnesses(intent).judge(sighting, lease) is Worth.SEEN:
            place = see(place, lease.endpoint, lease.since, "packet")
    assert (place.endpoint, place.seen_endpoint, place.turns) == ("c2-lan", "c2-lan", 1.0)
