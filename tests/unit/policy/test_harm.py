"""The devices that a change cuts off, the leases that another address plan hits, and the differences between two
policies."""

from collections.abc import Iterator
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core import lease_hits
from controller.core.disconnects import Apart, disconnects, losing
from controller.core.intent import Intent, Vcp
from controller.core.lease_hits import HeldLease, hits, touched
from controller.core.plans import settings
from controller.core.policy.model import AccessRule, Action, Addresses, LanPlan, Migration, Rules, Tenant

M1 = Apart("m1", "a", "b")


DROP = Action.DROP
BLUE = {"blue": "abc"}


def pools(**members: str) -> Intent:
    return Intent(vcps={name: Vcp(name, members=frozenset(who)) for name, who in members.items()})


def ruled(members: dict[str, str], **rules: list[AccessRule]) -> Intent:
    return pools(**members).but(policy=Rules(access={name: tuple(some) for name, some in rules.items()}))


def rule(
    name: str,
    action: Action = DROP,
    of: str = "",
    to: str = "",
    protocols: tuple[str, ...] = (),
    ports: tuple[tuple[int, int], ...] = (),
) -> AccessRule:
    return AccessRule(name, action, frozenset(of), frozenset(to), protocols, ports)


def why(old: Intent, new: Intent) -> list[str]:
    """Return the reasons why m1 is cut off; check that its LANs are then among those that may lose a path."""
    found = [one.how for one in disconnects(old, new, [M1])]
    assert not found or losing(old, new) >= {M1.md, M1.vm}
    return [f"{how.vcp} {how.rule}: {how.why}" for how in found]


def test_a_path_is_lost_with_the_last_pool_that_two_share() -> None:
    old = pools(blue="abc", red="ab")
    assert losing(old, old) == frozenset()
    assert losing(old, pools(blue="ac", red="ab")) == frozenset("abc")
    assert losing(old, pools(blue="abcd", red="ab", green="xy")) == frozenset()
    assert why(old, pools(blue="ac", red="ab")) == []
    assert why(old, pools(green="ab")) == []
    lost = ["blue None: they share blue and would share no pool"]
    assert why(old, pools(blue="ac", red="b")) == lost
    every = disconnects(old, pools(), [Apart("m2", "c", "d"), M1, Apart("m0", "b", "c"), M1])
    assert [(one.who.device, one.how.vcp) for one in every] == [("m0", "blue"), ("m1", "blue")]


@pytest.mark.parametrize(
    ("rules", "lost"),
    [
        ([rule("no")], "by rule 'no' of blue, nothing would get from a to b"),
        ([rule("no", of="a", to="b")], "by rule 'no' of blue, nothing would get from a to b"),
        ([rule("no", of="b", to="a")], "by rule 'no' of blue, nothing would get from b to a"),
        ([rule("no", protocols=("tcp",))], "by rule 'no' of blue, no TCP would get from a to b"),
        ([rule("no", protocols=("tcp",), ports=((0, 65535),))], "by rule 'no' of blue, no TCP would get from a to b"),
        ([rule("web", Action.ACCEPT, "a", "b", ("tcp",), ((443, 443),)), rule("no", of="a")], None),
        ([rule("web", Action.ACCEPT, to="b"), rule("no")], "by rule 'no' of blue, nothing would get from b to a"),
        ([rule("no", ports=((22, 22), (80, 80)))], None),
        ([rule("no", protocols=("tcp",), ports=((0, 65534),))], None),
        ([rule("no", protocols=("udp",))], None),
        ([rule("no", protocols=("icmp", "udp", "89"))], None),
        ([rule("no", of="a", to="c")], None),
        ([rule("slow", Action.RATE_LIMIT)], None),
    ],
)
def test_a_path_is_lost_by_a_rule_that_drops_all_of_it_one_way(rules: list[AccessRule], lost: str | None) -> None:
    assert why(ruled(BLUE), ruled(BLUE, blue=rules)) == ([f"blue no: {lost}"] if lost else [])


def test_what_was_closed_before_is_not_lost() -> None:
    closed, no = ruled(BLUE, blue=[rule("no")]), rule("no")
    assert why(closed, ruled(BLUE, blue=[rule("ssh", protocols=("tcp",), ports=((22, 22),)), no])) == []
    assert why(closed, pools()) == []
    assert why(closed, ruled(BLUE)) == why(closed, closed) == []
    one_way, tcp = ruled(BLUE, blue=[rule("no", of="a")]), ruled(BLUE, blue=[rule("no", protocols=("tcp",))])
    assert why(one_way, closed) == ["blue no: by rule 'no' of blue, nothing would get from b to a"]
    assert why(tcp, closed) == ["blue no: by rule 'no' of blue, nothing would get from a to b"]
    assert why(tcp, pools()) == ["blue None: they share blue and would share no pool"]
    web = rule("web", Action.ACCEPT, protocols=("tcp",), ports=((443, 443),))
    assert why(ruled(BLUE, blue=[web, no]), closed) == ["blue no: by rule 'no' of blue, nothing would get from a to b"]
    assert why(ruled(BLUE, blue=[web, no]), ruled(BLUE, blue=[no, web])) != []


def test_the_strictest_of_the_pools_that_two_share_cuts_off() -> None:
    no = [rule("no")]
    both = BLUE | {"red": "ab"}
    by_red = ["red no: by rule 'no' of red, nothing would get from a to b"]
    assert why(ruled(BLUE), ruled(both, red=no)) == by_red
    assert why(ruled(BLUE | {"red": "a"}, red=no), ruled(both, red=no)) == by_red
    assert why(ruled(both), ruled(both, red=no)) == by_red
    family = pools(blue="abc").but(vcps={"metro-1": Vcp("metro-1", members=frozenset("ab"), family="metro")})
    closed = family.but(policy=Rules(access={"metro": tuple(no)}))
    assert why(family, closed) == ["metro-1 no: by rule 'no' of metro-1, nothing would get from a to b"]


def test_only_those_whom_changed_rules_are_about_are_looked_at() -> None:
    first, no = rule("first", protocols=("udp",)), rule("no", of="a", to="b")
    wide = BLUE | {"red": "defg"}
    old = ruled(wide, blue=[first], red=[first])
    assert losing(old, ruled(wide, blue=[first, no], red=[first])) == frozenset("ab")
    assert losing(old, ruled(wide, blue=[no, first], red=[first])) == frozenset("abc")
    assert losing(old, ruled(wide, blue=[first], red=[first, no])) == frozenset()
    assert losing(old, ruled(wide, blue=[first], red=[first, rule("no", to="g")])) == frozenset("defg")


def addresses(exclusions: tuple[tuple[str, str], ...] = (), **reservations: str) -> Addresses:
    return Addresses(lans={"lan": LanPlan(exclusions=exclusions, reservations=reservations)})


def test_leases_are_hit_by_what_is_new_in_a_plan() -> None:
    md, vm = HeldLease("lan", "m1", "md", "10.0.0.10"), HeldLease("lan", "m1", "vm", "10.0.0.11")
    narrow, wide = addresses((("10.0.0.2", "10.0.0.9"),)), addresses((("10.0.0.2", "10.0.0.19"),))
    assert touched(Addresses(), narrow) == touched(narrow, wide) == ["lan"] and touched(wide, wide) == []
    assert hits(Addresses(), narrow, [md, vm]) == []
    assert [hit.lease for hit in hits(narrow, wide, [md, vm])] == [md, vm]
    assert hits(wide, wide, [md, vm]) == []
    assert [hit.why for hit in hits(wide, addresses(m2="10.0.0.10"), [md, vm])] == ["10.0.0.10 is reserved for m2"] * 2
    assert hits(wide, addresses(m1="10.0.0.10"), [md, vm]) == []
    assert "until no lease on its pair is left" in hits(wide, addresses(m1="10.0.0.12"), [vm])[0].why


def against(plan: Addresses, lease: HeldLease) -> Iterator[str]:
    """Yield the conflicts of a plan with a lease, each as a sentence."""
    lan = plan.lans.get(lease.endpoint, LanPlan())
    number = int(ip_address(lease.address))
    md = number if lease.kind == "md" else number - 1
    for first, last in lan.exclusions:
        if int(ip_address(first)) <= number <= int(ip_address(last)):
            yield f"{first} to {last} is not given out"
    for device, address in lan.reservations.items():
        reserved = int(ip_address(address))
        if device != lease.device and reserved == md:
            yield f"{address} is reserved for {device}"
        if device == lease.device and reserved != md:
            yield f"{device} is to have {address}, and keeps what it has until no lease on its pair is left"


devices = st.sampled_from(["m1", "m2", "m3"])
ADDRESSES = [f"10.0.0.{n}" for n in range(2, 12)]
lans = st.builds(
    LanPlan,
    reservations=st.dictionaries(devices, st.sampled_from(ADDRESSES[::2])),
    exclusions=st.lists(st.tuples(*[st.sampled_from(ADDRESSES)] * 2), max_size=3).map(tuple),
)
address_plans = st.builds(Addresses, lans=st.dictionaries(st.sampled_from("ab"), lans))
held = st.builds(HeldLease, st.sampled_from("abc"), devices, st.sampled_from(["md", "vm"]), st.sampled_from(ADDRESSES))


@given(address_plans, address_plans, st.lists(held))
def test_hits_are_what_the_one_plan_has_against_a_lease_and_the_other_had_not(
    before: Addresses, after: Addresses, leases: list[HeldLease]
) -> None:
    found = [(lease, why) for lease in leases for why in set(against(after, lease)) - set(against(before, lease))]
    assert [(hit.lease, hit.why) for hit in hits(before, after, leases)] == sorted(found)


def test_every_address_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(text: str) -> object:
        read.append(text)
        return ip_address(text)

    monkeypatch.setattr(lease_hits, "ip_address", counted)
    leases = [HeldLease("lan", f"m{n}", "md", f"10.0.0.{2 * n}") for n in range(1, 100)]
    ranges = tuple((f"10.0.1.{n}", f"10.0.1.{n}") for n in range(50))
    assert (
        hits(addresses(ranges[:9]), addresses(ranges, **{f"m{n}": f"10.0.0.{2 * n}" for n in range(1, 50)}), leases)
        == []
    )
    assert len(read) == len(leases) + 2 * (50 - 9) + 49


def test_what_two_policies_say_differently() -> None:
    web = AccessRule("web", Action.DROP, protocols=("tcp",), ports=((80, 80), (8000, 8080)), sources=frozenset({"a"}))
    slow = AccessRule("slow", Action.RATE_LIMIT, destinations=frozenset({"b"}), rate_kbps=64)
    one = Rules(access={"blue": (web,)}, tenants={"acme": Tenant("acme", vcps=frozenset())})
    two = Rules(access={"blue": (slow, web)}, migration=Migration(rtt_ms=100))
    assert [(s.path, s.before, s.after) for s in settings(one, two)] == [
        ("access.blue.slow", None, "1. rate-limit to 64 kbit/s to b"),
        ("access.blue.web", "1. drop tcp to port 80, 8000-8080 from a", "2. drop tcp to port 80, 8000-8080 from a"),
        ("migration.rtt_ms", "150", "100"),
        ("tenants.acme.consent", "true", None),
        ("tenants.acme.vcps", "none", None),
    ]
    assert settings(one, one) == ()
