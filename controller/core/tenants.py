"""Tenants: the cloudlets at which each may have endpoints, and the pools that those may be in. A policy without tenants
does not restrict them; an endpoint without a tenant is the operators' own, and may be anywhere."""

from controller.core.intent import Cloudlet, Endpoint, Vcp
from controller.core.policy.model import Rules, Tenant
from controller.core.selectors import matches
from controller.core.words import meant


def no_place(rules: Rules, tenant: str | None, cloudlet: Cloudlet) -> str | None:
    """Return why the tenant may not have an endpoint at the cloudlet; None if it may."""
    if tenant is None or not rules.tenants:
        return None
    known = rules.tenants.get(tenant)
    if known is None:
        hint = meant(tenant, rules.tenants) or f": it knows {', '.join(sorted(rules.tenants))}"
        return f"the policy knows no tenant {tenant!r}{hint}"
    if _at(known, cloudlet):
        return None
    return f"the policy does not let tenant {tenant} attach at {cloudlet.name}: {_where(known)}"


def no_pool(rules: Rules, endpoint: Endpoint, vcp: Vcp) -> str | None:
    """Return why the endpoint's tenant may not be in the pool; None if it may."""
    known = rules.tenants.get(endpoint.tenant or "")
    if known is None or known.vcps is None or not known.vcps.isdisjoint({vcp.name, vcp.family}):
        return None
    allowed = f"its endpoints may be in {', '.join(sorted(known.vcps))}" if known.vcps else "it may be in no pool"
    return f"{endpoint.name} is of tenant {known.name}, which the policy does not let into {vcp.name}: {allowed}"


def waiting(endpoint: Endpoint) -> str:
    """Return the sentence about the consent that an endpoint waits for."""
    return f"tenant {endpoint.tenant} has not consented to {endpoint.name}"


def _at(tenant: Tenant, cloudlet: Cloudlet) -> bool:
    if tenant.cloudlets is None and tenant.select is None:
        return True
    named = tenant.cloudlets is not None and cloudlet.name in tenant.cloudlets
    return named or (tenant.select is not None and matches(tenant.select, cloudlet.labels))


def _where(tenant: Tenant) -> str:
    places = sorted(tenant.cloudlets or ())
    if tenant.select is not None:
        chosen = (f"{key} {' or '.join(sorted(values)) or 'of any value'}" for key, values in tenant.select.items())
        places.append(f"cloudlets with {' and '.join(chosen)}" if tenant.select else "any cloudlet")
    return f"it may be at {', '.join(places)}" if places else "it may be at none"
