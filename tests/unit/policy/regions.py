"""Random regions and policies: cloudlets with labels and places, pools made by hand and by policy, and round trips."""

from dataclasses import replace

from hypothesis import strategies as st

from controller.core import edits
from controller.core.intent import Cloudlet, CloudletState, Endpoint, Intent, Vcp
from controller.core.policy.model import PolicyVcp, Proximity, Rules, Tenant
from controller.core.proximity.nearness import Medians
from controller.core.refusals import Refused
from controller.wire.flavours import Flavour

CLOUDLETS = 8
CITIES, TENANTS = ("turin", "milan", "rome"), ("acme", "beta")
STEP = 0.008
"""Degrees of latitude, about 890 m: by default, cloudlets one step apart are near each other and those two steps apart
are not."""
BOUNDS, ROUND_TRIPS = (20.0, 60.0), (5.0, 20.0, 21.0, 100.0)
"""Milliseconds: the maxima of pool families, and the measured values, at the bounds and on both sides of them."""


def flavour(number: int) -> Flavour:
    return Flavour.EVPN if number % 4 == 3 else Flavour.VPLS


def cloudlet(
    number: int, city: str = "turin", step: int | None = None, state: CloudletState = CloudletState.ACTIVE
) -> Cloudlet:
    place = (None, None) if step is None else (45.0 + step * STEP, 7.0)
    labels = {"city": city} if city else {}
    return Cloudlet(f"c{number}", flavour(number), f"192.0.2.{number + 1}", state, None, 0, labels, *place)


def region(*cloudlets: Cloudlet, prefixes: tuple[int, ...] = (), tenants: tuple[str | None, ...] = ()) -> Intent:
    """Return an intent in which each cloudlet has one LAN."""
    intent = Intent()
    for number, one in enumerate(cloudlets):
        intent = edits.add_cloudlet(intent, one, [])
        net = prefixes[number] if number < len(prefixes) else number
        tenant = tenants[number] if number < len(tenants) else None
        lan = Endpoint(f"{one.name}-lan", one.name, 0, 0, f"10.{net}.0.0/24", "", tenant=tenant)
        if one.state is CloudletState.DRAINING:
            made = edits.add_endpoint(intent.with_cloudlet(replace(one, state=CloudletState.ACTIVE)), lan, [])
            intent = made.with_cloudlet(one)
        else:
            intent = edits.add_endpoint(intent, lan, [])
    return intent


_number = st.integers(0, CLOUDLETS - 1)
_name = st.builds("c{}".format, _number)
_city = st.sampled_from(["", *CITIES])
_step = st.one_of(st.none(), st.integers(0, 9))
_state = st.sampled_from(
    [CloudletState.ACTIVE, CloudletState.ACTIVE, CloudletState.ACTIVE, CloudletState.PENDING, CloudletState.DRAINING]
)
_endpoint = st.builds("c{}-lan".format, _number)


@st.composite
def regions(draw: st.DrawFn) -> Intent:
    """Draw intents, some with up to two pools made by hand, and with LANs that overlap."""
    many = range(draw(st.integers(1, CLOUDLETS)))
    cloudlets = [cloudlet(n, draw(_city), draw(_step), draw(_state)) for n in many]
    prefixes = tuple(draw(st.sampled_from([n, n, n, 0])) for n in many)
    intent = region(*cloudlets, prefixes=prefixes, tenants=tuple(draw(st.sampled_from([None, *TENANTS])) for _ in many))
    for name in ("hand", "blue"):
        if draw(st.booleans()):
            intent = intent.with_vcp(Vcp(name))
            for member in draw(st.lists(_endpoint, max_size=4)):
                intent = joined(intent, name, member)
    return intent


def joined(intent: Intent, vcp: str, endpoint: str) -> Intent:
    """Return the intent after the join, or the same intent if the join is refused."""
    try:
        return edits.join(intent, vcp, endpoint)
    except Refused:
        return intent


_selector = st.one_of(
    st.none(),
    st.dictionaries(st.just("city"), st.frozensets(st.sampled_from(CITIES), max_size=2), max_size=1),
    st.just({"tenant": frozenset({"acme"})}),
)


def _pool(name: str, kind: Flavour) -> st.SearchStrategy[PolicyVcp]:
    members = st.lists(_endpoint, max_size=4, unique=True).map(tuple)
    return st.builds(PolicyVcp, st.just(name), st.just(kind), st.sampled_from(["", "one"]), members, _selector)


def _family(name: str) -> st.SearchStrategy[PolicyVcp]:
    most = st.sampled_from([None, *BOUNDS])
    return st.builds(PolicyVcp, st.just(name), select=_selector, automatic=st.just(True), max_rtt_ms=most)


medians: st.SearchStrategy[Medians] = st.dictionaries(
    _name, st.dictionaries(_name, st.sampled_from(ROUND_TRIPS), max_size=CLOUDLETS), max_size=CLOUDLETS
)
"""Round trips: some known from both sides with different values, some from one side, some from none."""


policies = st.builds(
    lambda vcps, coverage, tenants: Rules(vcps=vcps, proximity=Proximity(coverage_m=coverage), tenants=tenants),
    st.fixed_dictionaries(
        {},
        optional={
            "blue": _pool("blue", Flavour.VPLS),
            "red": _pool("red", Flavour.VPLS),
            "fair": _pool("fair", Flavour.EVPN),
            "metro": _family("metro"),
            "town": _family("town"),
        },
    ),
    st.sampled_from([100.0, 1000.0]),
    st.sampled_from([{}, {"acme": Tenant("acme", vcps=frozenset({"red", "metro"}), consent=False)}]),
)
