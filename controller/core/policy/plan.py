"""What would change if a policy were applied. Pure: the inventory comes in, the plan goes out."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from controller.core.policy.errors import PolicyError, PolicyInvalid
from controller.core.policy.form import Policy, PolicyVcp
from controller.wire.flavours import Flavour


@dataclass(frozen=True)
class InventoryVcp:
    """A pool that exists. `managed_by_policy` says that a policy made it or took it over."""

    flavour: Flavour
    members: frozenset[str] = frozenset()
    managed_by_policy: bool = False
    description: str = ""


@dataclass(frozen=True)
class Inventory:
    """What is, by name: the flavour of every endpoint, and the pools."""

    endpoints: Mapping[str, Flavour] = field(default_factory=dict)
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
    """The steps from what is to what `policy` says. Raises PolicyInvalid when it names what does not exist or mixes
    flavours. Whether two members get along (prefixes, VNIs) is for `pools` to say, as for any join."""
    if errors := list(_errors(policy, inventory)):
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


SUGGESTIONS = 10
"""Unknown names beyond this many get no suggestion: looking for one takes time, and a region may have thousands."""


def _errors(policy: Policy, inventory: Inventory) -> Iterator[PolicyError]:
    unknown = 0
    for vcp in policy.vcps:
        old = inventory.vcps.get(vcp.name)
        if old is not None and old.flavour is not vcp.flavour:
            yield policy.error(
                ("vcps", vcp.name),
                f"VCP '{vcp.name}' is {old.flavour} and cannot become {vcp.flavour}: delete it first",
            )
        for i, name in enumerate(vcp.members):
            here = ("vcps", vcp.name, "members", i)
            flavour = inventory.endpoints.get(name)
            if flavour is None:
                unknown += 1
                close = difflib.get_close_matches(name, inventory.endpoints, n=1) if unknown <= SUGGESTIONS else []
                hint = f": did you mean '{close[0]}'?" if close else ""
                yield policy.error(here, f"there is no endpoint '{name}'{hint}")
            elif flavour is not vcp.flavour:
                yield policy.error(here, f"endpoint '{name}' is {flavour}, and VCP '{vcp.name}' is {vcp.flavour}")
