"""Whom a change cuts off, which leases another plan hits, and what two policies say differently."""

from controller.core.disconnects import Apart, Disconnect, disconnects, losing
from controller.core.intent import Intent, Vcp
from controller.core.lease_hits import Held, hits, touched
from controller.core.plans import settings
from controller.core.policy.model import AccessRule, Action, Addresses, LanPlan, Migration, Rules, Tenant

M1 = Apart("m1", "a", "b")


def pools(**members: str) -> Intent:
    return Intent(vcps={name: Vcp(name, members=frozenset(who)) for name, who in members.items()})


def test_a_path_is_lost_with_the_last_pool_that_two_share() -> None:
    old = pools(blue="abc", red="ab")
    assert losing(old, old) == {}
    assert losing(old, pools(blue="ac", red="ab")) == {"b": frozenset("c"), "c": frozenset("b")}
    assert disconnects(old, pools(blue="ac", red="ab"), [M1]) == []
    assert disconnects(old, pools(green="ab"), [M1]) == []
    assert disconnects(old, pools(blue="ac", red="b"), [M1]) == [Disconnect("m1", "a", "b", "blue")]
    assert disconnects(old, pools(), [M1, Apart("m2", "c", "d")]) == [Disconnect("m1", "a", "b", "blue")]


def addresses(exclusions: tuple[tuple[str, str], ...] = (), **reservations: str) -> Addresses:
    return Addresses(lans={"lan": LanPlan(exclusions=exclusions, reservations=reservations)})


def test_leases_are_hit_by_what_is_new_in_a_plan() -> None:
    md, vm = Held("lan", "m1", "md", "10.0.0.10"), Held("lan", "m1", "vm", "10.0.0.11")
    narrow, wide = addresses((("10.0.0.2", "10.0.0.9"),)), addresses((("10.0.0.2", "10.0.0.19"),))
    assert touched(Addresses(), narrow) == touched(narrow, wide) == ["lan"] and touched(wide, wide) == []
    assert hits(Addresses(), narrow, [md, vm]) == []
    assert [hit.lease for hit in hits(narrow, wide, [md, vm])] == [md, vm]
    assert hits(wide, wide, [md, vm]) == []
    assert [hit.why for hit in hits(wide, addresses(m2="10.0.0.10"), [md, vm])] == ["10.0.0.10 is reserved for m2"] * 2
    assert hits(wide, addresses(m1="10.0.0.10"), [md, vm]) == []
    assert "until its lease ends" in hits(wide, addresses(m1="10.0.0.12"), [vm])[0].why


def test_what_two_policies_say_differently() -> None:
    web = AccessRule("web", Action.DROP, protocols=("tcp",), ports=((80, 80), (8000, 8080)), sources=frozenset({"a"}))
    slow = AccessRule("slow", Action.RATE_LIMIT, destinations=frozenset({"b"}), rate_kbps=64)
    one = Rules(access={"blue": (web,)}, tenants={"acme": Tenant("acme", vcps=frozenset())})
    two = Rules(access={"blue": (slow, web)}, migration=Migration(rtt_ms=100))
    assert [(s.path, s.before, s.after) for s in settings(one, two)] == [
        ("access.blue.slow", None, "1. rate-limit to 64 kbit/s to b"),
        ("access.blue.web", "1. drop tcp to port 80, 8000-8080 from a", "2. drop tcp to port 80, 8000-8080 from a"),
        ("migration.rtt_ms", "150", "100"),
        ("tenants.acme.vcps", "none", None),
    ]
    assert settings(one, one) == ()
