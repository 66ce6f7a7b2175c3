"""Consent of tenants (CloudNet, section 3.1.1: a resource joins a customer's cloud when that customer has authorised
it). An endpoint whose tenant must be asked is held back until the tenant has consented: it is in no pool, and neither
route servers nor its cloudlet know of it. Pure; edits raise Refused.

Consent is to one endpoint as it was made. An endpoint that is made anew under the same name is a different one and
needs a new consent."""

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum

from controller.core.intent import Endpoint, Intent
from controller.core.persistent_map import PersistentMap
from controller.core.policy.model import Rules
from controller.core.refusals import conflict, missing
from controller.core.roles import Caller, Role


class ConsentState(StrEnum):
    """`unasked`: the tenant, if there is one, has not consented and need not. Endpoints in `waiting` and `withdrawn`
    are held back."""

    UNASKED = "unasked"
    GIVEN = "given"
    WAITING = "waiting"
    WITHDRAWN = "withdrawn"


def state(intent: Intent, endpoint: str, *, before: bool) -> ConsentState:
    """Return the state of an endpoint's consent. `before`: there was a consent to it once."""
    if intent.endpoints[endpoint].consented_by is not None:
        return ConsentState.GIVEN
    if not intent.held(endpoint):
        return ConsentState.UNASKED
    return ConsentState.WITHDRAWN if before else ConsentState.WAITING


def signature(caller: Caller, endpoint: Endpoint) -> str:
    """Return the name under which a consent is recorded. If an admin consents for a tenant, the name says so."""
    own = caller.role is Role.TENANT and caller.tenant == endpoint.tenant
    return caller.name if own else f"{caller.name}, for tenant {endpoint.tenant}"


def give(intent: Intent, name: str, caller: Caller) -> Intent:
    """Record the tenant's consent to its endpoint."""
    endpoint = _owned(intent, name)
    if endpoint.consented_by is not None:
        raise conflict(f"tenant {endpoint.tenant} has consented to {name} already, by {endpoint.consented_by}")
    return intent.with_endpoint(replace(endpoint, consented_by=signature(caller, endpoint)))


def withdraw(intent: Intent, name: str) -> Intent:
    """Withdraw the tenant's consent. If the tenant's consent is required, the endpoint leaves all pools."""
    endpoint = _owned(intent, name)
    if endpoint.consented_by is None:
        raise conflict(f"tenant {endpoint.tenant} has not consented to {name}")
    return without_held(intent.with_endpoint(replace(endpoint, consented_by=None)), [name])


def _owned(intent: Intent, name: str) -> Endpoint:
    if name not in intent.endpoints:
        raise missing("endpoint", name, intent.endpoints)
    endpoint = intent.endpoints[name]
    if endpoint.tenant is None:
        raise conflict(f"{name} belongs to no tenant: no consent is needed")
    return endpoint


def cut_off(intent: Intent, rules: Rules) -> list[str]:
    """Return the endpoints, sorted, that are in force now and would be held back under another policy."""
    if not any(tenant.consent for tenant in rules.tenants.values()):
        return []
    other = intent.but(policy=rules)
    return sorted(name for name in intent.endpoints if other.held(name) and not intent.held(name))


def counted(intent: Intent, names: Iterable[str], who: str) -> Intent:
    """Return the intent with these endpoints counted as consented, which an operator states without asking the
    tenants."""
    said = {name: replace(intent.endpoints[name], consented_by=f"{who}, counted as consented") for name in names}
    return intent.but(endpoints=PersistentMap.of(intent.endpoints).updated(said)) if said else intent


def without_held(intent: Intent, names: Iterable[str] | None = None) -> Intent:
    """Return the intent in which no endpoint that is held back is in a pool; only `names` are checked, if given."""
    if not any(tenant.consent for tenant in intent.policy.tenants.values()):
        return intent
    for name in list(intent.pools_of) if names is None else names:
        if intent.held(name):
            for vcp in intent.pools_of.get(name, ()):
                intent = intent.without_member(vcp, name)
    return intent
