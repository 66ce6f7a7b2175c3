"""Random intents for property tests: sequences of edits as operators make them, including refused ones."""

from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from controller.core import alterations, edits, machines
from controller.core.announce_permits import permit
from controller.core.intent import Cloudlet, CloudletState, Endpoint, Intent, Vcp
from controller.core.refusals import Refused
from controller.wire.flavours import Flavour
from controller.wire.machines import NICS

CLOUDLETS, LANS, POOLS = 6, 2, 3
SERVERS = {"c5": "192.0.2.6"}
"""The hosts of route servers: c5 is one."""

UNMANAGED = 4
"""The cloudlet whose PE has no agent, and is in another AS."""

PREFIXES = [f"10.{i}.0.0/24" for i in range(8)] + ["10.1.0.128/25", "10.0.0.0/15"]

ADDRESSES: list[tuple[str, ...]] = [(), ("10.2.0.3",), ("10.5.0.3", "2001:db8:5::3")]


@dataclass
class Region:
    """An intent, and the intent before the last edit."""

    now: Intent = field(default_factory=Intent)
    before: Intent = field(default_factory=Intent)


def lan(cloudlet: int, number: int, prefix: str, vni: int | None = None) -> Endpoint:
    return Endpoint(f"c{cloudlet}-lan{number}", f"c{cloudlet}", 0, 0, prefix, "", vni=vni)


def flavour(cloudlet: int) -> Flavour:
    return Flavour.EVPN if cloudlet % 3 == 2 else Flavour.VPLS


def founded() -> Intent:
    """Return an intent with all cloudlets active and all pools empty."""
    intent = Intent(route_servers=SERVERS)
    for number in range(CLOUDLETS):
        wanted = Cloudlet(f"c{number}", flavour(number), f"192.0.2.{number + 1}")
        if number == UNMANAGED:
            wanted = replace(wanted, unmanaged=True, asn=64900, ttl_security=1)
        intent = edits.add_cloudlet(intent, wanted, ["192.0.2.200"])
        intent = edits.set_state(intent, wanted.name, CloudletState.ACTIVE)
    for number in range(POOLS):
        intent = edits.add_vcp(intent, Vcp(f"p{number}", flavour(number)))
    return intent


_number = st.integers(0, CLOUDLETS - 1)
_endpoint = st.builds("c{}-lan{}".format, _number, st.integers(0, LANS - 1))
_evpn = st.sampled_from([f"c{c}-lan{n}" for c in range(2, CLOUDLETS, 3) for n in range(LANS)])
_pool = st.builds("p{}".format, st.integers(0, POOLS - 1))
_name = st.builds("c{}".format, _number)
_lan = st.builds(lan, _number, st.integers(0, LANS - 1), st.sampled_from(PREFIXES))

LAN_FIELDS: list[alterations.Fields] = [
    {"mtu": 1400},
    {"mtu": 1450, "lease_seconds": 60},
    {"ports": ("md*", "vm*")},
    {"max_routes": 9},
    {"tenant": "acme"},
    {"vni": 7},
    {"vni": None},
    {"prefix": "10.1.0.0/24"},
    {"prefix": "10.1.0.128/25"},
    {"prefix": "10.6.0.0/24", "mtu": 1300},
    {"prefix6": "2001:db8:1::/64"},
    {"prefix6": None},
]
CLOUDLET_FIELDS: list[alterations.Fields] = [
    {"vtep": "192.0.2.3"},
    {"vtep": "192.0.2.91"},
    {"vtep": "192.0.2.92", "labels": {"city": "turin"}},
    {"vtep": "10.1.0.9"},
    {"asn": 64901, "ttl_security": 3},
    {"asn": None},
    {"latitude": 45.0, "longitude": 7.0},
]

STEPS = st.one_of(
    st.tuples(st.just("add_endpoint"), _lan),
    st.tuples(st.just("add_endpoint"), _lan),
    st.tuples(st.just("join"), _pool, _endpoint),
    st.tuples(st.just("join"), _pool, _endpoint),
    st.tuples(st.just("join"), _pool, _endpoint),
    st.tuples(st.just("leave"), _pool, _endpoint),
    st.tuples(st.just("alter_endpoint"), _endpoint, st.sampled_from(LAN_FIELDS)),
    st.tuples(st.just("alter_endpoint"), _endpoint, st.sampled_from(LAN_FIELDS)),
    st.tuples(st.just("alter_cloudlet"), _name, st.sampled_from(CLOUDLET_FIELDS)),
    st.tuples(st.just("remove_endpoint"), _endpoint),
    st.tuples(st.just("drain"), _name),
    st.tuples(st.just("approve"), _name),
    st.tuples(st.just("end_credential"), _name),
    st.tuples(st.just("enrol"), _name),
    st.tuples(st.just("remove_cloudlet"), _name),
    st.tuples(st.just("remove_vcp"), _pool),
    st.tuples(st.just("add_vcp"), st.builds(Vcp, _pool)),
    st.tuples(st.just("permit"), st.sampled_from(["v1", "v2"]), st.sets(_evpn, max_size=2), st.sampled_from(ADDRESSES)),
)


def step(intent: Intent, edit: tuple[object, ...]) -> Intent:
    """Return the intent after one edit; the same intent if the edit was refused."""
    name, *arguments = edit
    if name == "add_endpoint":
        arguments.append(["192.0.2.200"])
    if name == "permit":
        vm, endpoints, addresses = arguments
        macs = [machines.mac(str(vm), nic) for nic in NICS]
        return intent.with_permits({str(vm): permit(intent, str(vm), macs, endpoints, addresses)})  # type: ignore[arg-type]
    try:
        if name == "enrol":
            cloudlet = str(arguments[0])
            return edits.enrol(intent, cloudlet, CloudletState.ACTIVE, f"of {cloudlet}", None)
        module = alterations if str(name).startswith("alter_") else edits
        after: Intent = getattr(module, str(name))(intent, *arguments)
    except Refused:
        return intent
    return after
