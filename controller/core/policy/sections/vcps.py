"""`vcps`: pools with members by name or by label, and families of pools that proximity makes."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from controller.core.policy.model import PolicyVcp, Selector
from controller.core.policy.policy import Policy
from controller.core.yaml_document.errors import DocumentError
from controller.wire.flavours import Flavour

ANY = "any"
LONGEST_FAMILY = 57
"""A pool of a family has the family's name, a hyphen and a number of up to five digits: 63 characters in all."""


def read(data: Mapping[str, Any]) -> Mapping[str, PolicyVcp]:
    """Return the section, sorted by name; `data` is valid by the schema."""
    return {name: _vcp(name, data[name]) for name in sorted(data)}


def _vcp(name: str, data: Mapping[str, Any]) -> PolicyVcp:
    return PolicyVcp(
        name,
        Flavour(data.get("flavour", Flavour.VPLS)),
        data.get("description", ""),
        tuple(data.get("members", ())),
        selector(data["select"]) if "select" in data else None,
        "automatic" in data,
        float(data["max_rtt_ms"]) if "max_rtt_ms" in data else None,
    )


def selector(data: Mapping[str, Any]) -> Selector:
    """Return label → values; `any`, not in a list, stands for any value."""
    return {
        label: frozenset() if value == ANY else frozenset([value] if isinstance(value, str) else value)
        for label, value in data.items()
    }


def errors(policy: Policy) -> Iterator[DocumentError]:
    """Yield errors about keys that contradict each other."""
    families = {name for name, vcp in policy.rules.vcps.items() if vcp.automatic}
    for name, vcp in policy.rules.vcps.items():
        here = ("vcps", name)
        if vcp.automatic and policy.has((*here, "members")):
            yield policy.error(
                (*here, "members"), f"proximity decides who is in {name}: choose by 'select', or leave 'automatic' out"
            )
        if not vcp.automatic and vcp.max_rtt_ms is not None:
            yield policy.error((*here, "max_rtt_ms"), "max_rtt_ms means something with 'automatic: proximity' only")
        if vcp.automatic and len(name) > LONGEST_FAMILY:
            yield policy.error(
                here,
                f"'{name}' is too long for a family, whose pools are called '{name}-1' and so on: "
                f"{LONGEST_FAMILY} characters are allowed",
            )
        family = re.sub(r"-[0-9]+$", "", name)
        if family != name and family in families:
            yield policy.error(here, f"'{name}' is what a pool of the family '{family}' may be called: choose another")
