"""`proximity`: the definition of near cloudlets. A site has the common value for each setting that it leaves out."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from controller.core.policy.model import Proximity, Site
from controller.core.policy.policy import Policy
from controller.core.yaml_document.document import Path
from controller.core.yaml_document.errors import DocumentError

_OWN = tuple(field.name for field in fields(Site))


def read(data: Mapping[str, Any]) -> Proximity:
    """Return the section; `data` is valid by the schema."""
    own = {key: float(data[key]) for key in _OWN if key in data}
    return Proximity(**own, sites={name: _site(site) for name, site in data.get("sites", {}).items()})


def _site(data: Mapping[str, Any]) -> Site:
    return Site(**{key: float(value) for key, value in data.items()})


def errors(policy: Policy) -> Iterator[DocumentError]:
    """Yield errors about times that leave no second to walk."""
    proximity = policy.rules.proximity
    own = Site(rto_seconds=proximity.rto_seconds, address_seconds=proximity.address_seconds)
    places: dict[Path, Site] = {("proximity", "sites", name): site for name, site in proximity.sites.items()}
    for here, site in ({("proximity",): own} | places).items():
        rto = proximity.rto_seconds if site.rto_seconds is None else site.rto_seconds
        address = proximity.address_seconds if site.address_seconds is None else site.address_seconds
        said = site.rto_seconds is not None or site.address_seconds is not None
        if said and address >= rto:
            key = "address_seconds" if policy.has((*here, "address_seconds")) else "rto_seconds"
            yield policy.error(
                (*here, key),
                f"address_seconds ({address:g}) must be below rto_seconds ({rto:g}): no time is left to walk",
            )
