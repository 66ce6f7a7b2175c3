"""Selectors: the endpoints that a policy means by labels instead of names."""

from collections.abc import Mapping

from controller.core.intent import Cloudlet, Endpoint, Intent
from controller.core.policy.model import Selector

TENANT = "tenant"
"""The label for an endpoint's tenant, which replaces a label of that name of its cloudlet."""


def labels(cloudlet: Cloudlet, endpoint: Endpoint) -> Mapping[str, str]:
    """Return the labels that selectors see of an endpoint: its cloudlet's, and its tenant."""
    return cloudlet.labels if endpoint.tenant is None else {**cloudlet.labels, TENANT: endpoint.tenant}


def matches(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Return whether all labels of the selector are present, each with one of its values, or any value if it lists
    none."""
    return all(key in labels and (not values or labels[key] in values) for key, values in selector.items())


class Labelled:
    """All endpoints by label, so that the cost of many selectors is proportional to their results."""

    def __init__(self, intent: Intent) -> None:
        self._all = frozenset(intent.endpoints)
        found: dict[str, dict[str, set[str]]] = {}
        for endpoint in intent.endpoints.values():
            for key, value in labels(intent.cloudlets[endpoint.cloudlet], endpoint).items():
                found.setdefault(key, {}).setdefault(value, set()).add(endpoint.name)
        self._found = found

    def select(self, selector: Selector) -> frozenset[str]:
        """Return the names of the endpoints that match."""
        chosen = self._all
        for key, values in selector.items():
            by_value = self._found.get(key, {})
            chosen &= frozenset[str]().union(*(by_value.get(value, ()) for value in values or by_value))
        return chosen
