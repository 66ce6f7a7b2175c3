"""A policy as an edit of the intent: the resulting region, and the errors with their places in the file."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from controller.core.intent import Intent
from controller.core.membership import Absent, settled
from controller.core.plans import Plan, plan
from controller.core.policy import Policy, PolicyInvalid
from controller.core.policy.model import PolicyVcp, Selector
from controller.core.policy.sections import addresses
from controller.core.policy.strangers import strangers
from controller.core.proximity.nearness import Medians
from controller.core.selectors import TENANT, Labelled
from controller.core.tenants import no_place, no_pool
from controller.core.words import meant
from controller.core.yaml_document.document import Path
from controller.core.yaml_document.errors import DocumentError

SUGGESTIONS = 10
"""Unknown names beyond this many get no suggestion: a search takes time, and a region may have thousands."""


@dataclass(frozen=True)
class PolicyEdit:
    """The steps, the intent after them, and warnings: allowed, but worth a check by the user."""

    plan: Plan
    intent: Intent
    warnings: tuple[DocumentError, ...] = ()


def apply(intent: Intent, policy: Policy, medians: Medians, *, strict: bool = False) -> PolicyEdit:
    """Return the intent under `policy`. Raises PolicyInvalid with every member that cannot be where the policy names
    it, each with its place in the file; with `strict` also for all warnings."""
    after = settled(intent.but(policy=policy.rules), medians)
    errors = list(_flavours(intent, policy))
    errors += _members(intent, policy, (a for a in after.absent if a.named))
    errors += addresses.against(policy, {e.name: (e.prefix, e.prefix6) for e in intent.endpoints.values()})
    warnings = [*_left_out(policy, after.absent), *_empty(intent, policy), *_strangers(after.intent, policy)]
    warnings += [*policy.warnings, *strangers(policy, intent.endpoints, intent.cloudlets)]
    if errors or (strict and warnings):
        raise PolicyInvalid([*errors, *(warnings if strict else ())])
    return PolicyEdit(plan(intent, after), after.intent, tuple(sorted(warnings)))


def _flavours(intent: Intent, policy: Policy) -> Iterator[DocumentError]:
    for name, rule in policy.rules.vcps.items():
        old = intent.vcps.get(name)
        if old is not None and not rule.automatic and old.flavour is not rule.flavour:
            message = f"VCP '{name}' is {old.flavour} and cannot become {rule.flavour}: delete it first"
            yield policy.error(("vcps", name), message)


def _members(intent: Intent, policy: Policy, refused: Iterable[Absent]) -> Iterator[DocumentError]:
    unknown = 0
    for one in refused:
        if one.waits and one.endpoint in intent.endpoints:
            continue
        here: Path = ("vcps", one.vcp, "members", policy.rules.vcps[one.vcp].members.index(one.endpoint))
        if one.endpoint in intent.endpoints:
            yield policy.error(here, one.why)
            continue
        unknown += 1
        hint = meant(one.endpoint, intent.endpoints, len(intent.endpoints)) if unknown <= SUGGESTIONS else ""
        yield policy.error(here, one.why + hint)


def _left_out(policy: Policy, absent: Iterable[Absent]) -> Iterator[DocumentError]:
    """Yield the endpoints that a selector or proximity chooses, but that cannot be in the pool."""
    for one in absent:
        if not one.named and not one.waits:
            yield policy.error(("vcps", one.vcp, "select"), f"{one.endpoint} stays out of {one.vcp}: {one.why}")


def _empty(intent: Intent, policy: Policy) -> Iterator[DocumentError]:
    """Yield the selectors that match no endpoint."""
    labelled = Labelled(intent)
    for name, rule in policy.rules.vcps.items():
        if rule.select is not None and not any(_of_flavour(intent, rule, e) for e in labelled.select(rule.select)):
            yield policy.error(("vcps", name, "select"), _nobody(intent, rule.select, f"{rule.flavour} endpoint"))
    for name, tenant in policy.rules.tenants.items():
        if tenant.select is not None and not labelled.select(tenant.select):
            yield policy.error(("tenants", name, "select"), _nobody(intent, tenant.select, "endpoint"))


def _of_flavour(intent: Intent, rule: PolicyVcp, endpoint: str) -> bool:
    return intent.flavour(endpoint) is rule.flavour


def _nobody(intent: Intent, selector: Selector, noun: str) -> str:
    """Return that the selector matches nothing, and why, if one of its labels or values does not exist at all."""
    known: dict[str, set[str]] = {}
    for cloudlet in intent.cloudlets.values():
        for key, value in cloudlet.labels.items():
            known.setdefault(key, set()).add(value)
    known[TENANT] = {e.tenant for e in intent.endpoints.values() if e.tenant} | known.get(TENANT, set())
    for key, values in selector.items():
        if not known.get(key):
            return f"the selector matches no {noun}: no cloudlet has a label '{key}'{meant(key, known)}"
        if unknown := sorted(values - known[key]):
            said = f"no label '{key}' has the value '{unknown[0]}'{meant(unknown[0], known[key])}"
            return f"the selector matches no {noun}: {said}"
    return f"the selector matches no {noun}"


def _strangers(intent: Intent, policy: Policy) -> Iterator[DocumentError]:
    """Yield endpoints at places where the policy does not let their tenant attach, and members of pools made over REST
    that the policy does not let them into. They stay, but could not attach or join again."""
    if not policy.rules.tenants:
        return
    for endpoint in intent.endpoints.values():
        if why := no_place(policy.rules, endpoint.tenant, intent.cloudlets[endpoint.cloudlet]):
            yield policy.error(("tenants", endpoint.tenant or ""), f"{endpoint.name} is there already, but {why}")
        for vcp in sorted(intent.pools_of.get(endpoint.name, ())):
            if not intent.vcps[vcp].managed_by_policy and (
                refused := no_pool(policy.rules, endpoint, intent.vcps[vcp])
            ):
                path = ("tenants", endpoint.tenant or "", "vcps")
                yield policy.error(path, f"{endpoint.name} is in {vcp} already, but {refused}")
