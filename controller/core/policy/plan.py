"""What would change if a policy were applied. Pure: the inventory comes in, the plan goes out."""

import difflib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network

from controller.core.policy.document import Path
from controller.core.policy.errors import PolicyError, PolicyInvalid
from controller.core.policy.form import Policy, PolicyVcp
from controller.wire.flavours import Flavour


@dataclass(frozen=True)
class InventoryEndpoint:
    """An endpoint that exists. `prefix` is CIDR; `vni` is set for EVPN."""

    flavour: Flavour
    prefix: str
    cloudlet: str = ""
    vni: int | None = None


@dataclass(frozen=True)
class InventoryVcp:
    """A pool that exists. `managed_by_policy` says that a policy made it or took it over."""

    flavour: Flavour
    members: frozenset[str] = frozenset()
    managed_by_policy: bool = False
    description: str = ""


@dataclass(frozen=True)
class Inventory:
    """What is, by name."""

    endpoints: Mapping[str, InventoryEndpoint] = field(default_factory=dict)
    vcps: Mapping[str, InventoryVcp] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """Changes, each list sorted by name. `join` covers the members of created pools too; the members of a deleted
    pool leave with it and are not in `leave`. `adopt` names pools made over REST that come under the policy, and
    `describe` gives (pool, description) where the description differs."""

    create: tuple[PolicyVcp, ...] = ()
    adopt: tuple[str, ...] = ()
    describe: tuple[tuple[str, str], ...] = ()
    delete: tuple[str, ...] = ()
    join: tuple[tuple[str, str], ...] = ()
    leave: tuple[tuple[str, str], ...] = ()

    @property
    def empty(self) -> bool:
        """Nothing to do."""
        return not (self.create or self.adopt or self.describe or self.delete or self.join or self.leave)


def plan(policy: Policy, inventory: Inventory) -> Plan:
    """The steps from what is to what `policy` says. Raises PolicyInvalid when it names what does not exist, mixes
    flavours or VNIs in a pool, or would make one endpoint see overlapping prefixes."""
    errors = list(_errors_of_names(policy, inventory)) or list(_errors_of_pools(policy, inventory))
    if errors:
        raise PolicyInvalid(errors)
    wanted = {vcp.name: vcp for vcp in policy.vcps}
    kept = {name: vcp for name, vcp in inventory.vcps.items() if name in wanted}
    join: list[tuple[str, str]] = []
    leave: list[tuple[str, str]] = []
    for name, vcp in wanted.items():
        members = kept[name].members if name in kept else frozenset()
        join += [(name, endpoint) for endpoint in set(vcp.members) - members]
        leave += [(name, endpoint) for endpoint in members - set(vcp.members)]
    return Plan(
        create=tuple(vcp for name, vcp in sorted(wanted.items()) if name not in kept),
        adopt=tuple(sorted(name for name, vcp in kept.items() if not vcp.managed_by_policy)),
        describe=tuple(
            (name, wanted[name].description)
            for name in sorted(kept)
            if wanted[name].description != kept[name].description
        ),
        delete=tuple(sorted(n for n, vcp in inventory.vcps.items() if vcp.managed_by_policy and n not in wanted)),
        join=tuple(sorted(join)),
        leave=tuple(sorted(leave)),
    )


def _errors_of_names(policy: Policy, inventory: Inventory) -> Iterator[PolicyError]:
    for vcp in policy.vcps:
        old = inventory.vcps.get(vcp.name)
        if old is not None and old.flavour is not vcp.flavour:
            yield policy.error(
                ("vcps", vcp.name),
                f"VCP '{vcp.name}' is {old.flavour} and cannot become {vcp.flavour}: delete it first",
            )
        for i, name in enumerate(vcp.members):
            here: Path = ("vcps", vcp.name, "members", i)
            endpoint = inventory.endpoints.get(name)
            if endpoint is None:
                close = difflib.get_close_matches(name, list(inventory.endpoints), n=1)
                hint = f": did you mean '{close[0]}'?" if close else ""
                yield policy.error(here, f"there is no endpoint '{name}'{hint}")
            elif endpoint.flavour is not vcp.flavour:
                yield policy.error(
                    here, f"endpoint '{name}' is {endpoint.flavour}, and VCP '{vcp.name}' is {vcp.flavour}"
                )


def _errors_of_pools(policy: Policy, inventory: Inventory) -> Iterator[PolicyError]:
    for vcp in policy.vcps:
        first = inventory.endpoints[vcp.members[0]].vni if vcp.members else None
        for i, name in enumerate(vcp.members):
            vni = inventory.endpoints[name].vni
            if vni != first:
                yield policy.error(
                    ("vcps", vcp.name, "members", i),
                    f"endpoint '{name}' has VNI {vni}, and '{vcp.members[0]}' has {first}: "
                    f"all members of an EVPN pool have the same",
                )
    yield from _overlaps(policy, inventory)


def _overlaps(policy: Policy, inventory: Inventory) -> Iterator[PolicyError]:
    """An endpoint has a route to every prefix it shares a pool with, so no two of these may overlap; pools that are
    not the policy's count as well. Endpoints in the same set of pools see the same prefixes, and are looked at once."""
    pools = {n: vcp.members for n, vcp in inventory.vcps.items() if not vcp.managed_by_policy}
    pools |= {vcp.name: frozenset(vcp.members) for vcp in policy.vcps}
    pools_of: dict[str, set[str]] = defaultdict(set)
    for name, members in pools.items():
        for member in members:
            pools_of[member].add(name)
    seen: set[frozenset[str]] = set()
    for viewer in sorted(pools_of):
        names = frozenset(pools_of[viewer])
        if names in seen:
            continue
        seen.add(names)
        visible = sorted({member for name in names for member in pools[name] if member in inventory.endpoints})
        networks = sorted(
            ((ip_network(inventory.endpoints[member].prefix), member) for member in visible),
            key=lambda entry: (_order(entry[0]), entry[1]),
        )
        wide: tuple[IPv4Network | IPv6Network, str] | None = None
        for network, member in networks:
            if wide is not None and network.version == wide[0].version and network.overlaps(wide[0]):
                yield from _overlap(policy, viewer, names, (wide[1], str(wide[0])), (member, str(network)))
            else:
                wide = network, member


def _order(network: IPv4Network | IPv6Network) -> tuple[int, int, int]:
    return network.version, int(network.network_address), network.prefixlen


def _overlap(
    policy: Policy, viewer: str, names: frozenset[str], a: tuple[str, str], b: tuple[str, str]
) -> Iterator[PolicyError]:
    """Said where the last of those concerned stands in the file. An overlap that the policy has no part in is not its
    error."""
    entries = {
        ("vcps", vcp.name, "members", i): name
        for vcp in policy.vcps
        if vcp.name in names
        for i, name in enumerate(vcp.members)
        if name in (viewer, a[0], b[0])
    }
    if not entries:
        return
    where = max(entries, key=lambda path: policy.places.get(path, (1, 1)))
    through = "" if viewer in (a[0], b[0]) else f", and '{viewer}' would reach both"
    yield policy.error(where, f"the prefix {a[1]} of '{a[0]}' overlaps {b[1]} of '{b[0]}'{through}")
