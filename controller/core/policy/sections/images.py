"""`images`: the images of VMs and containers that cloudlets have before they are needed."""

from collections.abc import Iterator, Mapping
from typing import Any

from controller.core.policy.model import PlacedImage
from controller.core.policy.policy import Policy
from controller.core.policy.sections.vcps import selector
from controller.core.words import closest
from controller.core.yaml_document.errors import DocumentError

_SCHEME = "sha256:"
_CONDITIONS = ("cloudlets", "select", "vcps", "devices")


def read(data: Mapping[str, Any]) -> Mapping[str, PlacedImage]:
    """Return the section, sorted by name; `data` is valid by the schema."""
    return {name: _image(name, data[name]) for name in sorted(data)}


def _image(name: str, data: Mapping[str, Any]) -> PlacedImage:
    return PlacedImage(
        name,
        data["digest"].removeprefix(_SCHEME),
        data.get("registry"),
        data.keys().isdisjoint(_CONDITIONS),
        frozenset(data.get("cloudlets", ())),
        selector(data["select"]) if "select" in data else None,
        frozenset(data.get("vcps", ())),
        frozenset(data.get("devices", ())),
    )


def errors(policy: Policy) -> Iterator[DocumentError]:
    """Yield errors about pools that the policy does not have."""
    for name in policy.rules.images:
        for i, vcp in enumerate(policy.at(("images", name)).get("vcps", ())):
            if vcp not in policy.rules.vcps:
                hint, suggestion = closest(vcp, policy.rules.vcps)
                yield policy.error(("images", name, "vcps", i), f"this policy has no VCP '{vcp}'{hint}", suggestion)
