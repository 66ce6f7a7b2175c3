"""`tenants`: the places of each tenant's endpoints."""

from collections.abc import Iterator, Mapping
from typing import Any

from controller.core.policy.model import Tenant
from controller.core.policy.policy import Policy
from controller.core.policy.sections.vcps import selector
from controller.core.words import closest
from controller.core.yaml_document.errors import DocumentError


def read(data: Mapping[str, Any]) -> Mapping[str, Tenant]:
    """Return the section; `data` is valid by the schema."""
    return {name: _tenant(name, tenant) for name, tenant in data.items()}


def _tenant(name: str, data: Mapping[str, Any]) -> Tenant:
    return Tenant(
        name,
        frozenset(data["cloudlets"]) if "cloudlets" in data else None,
        selector(data["select"]) if "select" in data else None,
        frozenset(data["vcps"]) if "vcps" in data else None,
        data.get("consent", True),
    )


def errors(policy: Policy) -> Iterator[DocumentError]:
    """Yield errors about pools that the policy does not have."""
    for name in policy.rules.tenants:
        for i, vcp in enumerate(policy.at(("tenants", name)).get("vcps", ())):
            if vcp not in policy.rules.vcps:
                hint, suggestion = closest(vcp, policy.rules.vcps)
                yield policy.error(("tenants", name, "vcps", i), f"this policy has no VCP '{vcp}'{hint}", suggestion)


def warnings(policy: Policy) -> Iterator[DocumentError]:
    """Yield warnings about tenants that may be at no cloudlet or in no pool."""
    for name, tenant in policy.rules.tenants.items():
        if tenant.cloudlets == frozenset() and tenant.select is None:
            yield policy.error(("tenants", name, "cloudlets"), f"tenant {name} may have an endpoint at no cloudlet")
        if tenant.vcps == frozenset():
            yield policy.error(("tenants", name, "vcps"), f"endpoints of tenant {name} may be in no VCP")
