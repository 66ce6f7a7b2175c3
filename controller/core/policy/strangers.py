"""Names that a policy uses and the region does not have. A policy may be written before the things that it names exist,
so these are warnings. The members of pools are not checked here, but when the policy is applied."""

from collections.abc import Collection, Iterator
from itertools import islice

from controller.core.policy.policy import Policy
from controller.core.words import closest
from controller.core.yaml_document.document import Path
from controller.core.yaml_document.errors import MAX_ERRORS, DocumentError

SUGGESTIONS = 10
"""Unknown names beyond this many get no suggestion: a search takes time, and a region may have thousands."""


def strangers(policy: Policy, endpoints: Collection[str], cloudlets: Collection[str]) -> Iterator[DocumentError]:
    """Yield a warning for each unknown name, up to MAX_ERRORS."""
    known = {"endpoint": endpoints, "cloudlet": cloudlets}
    unknown = ((path, noun, name) for path, noun, name in _named(policy) if name not in known[noun])
    for i, (path, noun, name) in enumerate(islice(unknown, MAX_ERRORS)):
        hint, suggestion = closest(name, known[noun], len(known[noun])) if i < SUGGESTIONS else ("", "")
        yield policy.error(path, f"there is no {noun} '{name}'{hint}", suggestion)


def _named(policy: Policy) -> Iterator[tuple[Path, str, str]]:
    rules = policy.rules
    yield from ((("addresses", "lans", name), "endpoint", name) for name in rules.addresses.lans)
    yield from ((("proximity", "sites", name), "cloudlet", name) for name in rules.proximity.sites)
    for tenant in rules.tenants:
        for i, name in enumerate(policy.at(("tenants", tenant)).get("cloudlets", ())):
            yield ("tenants", tenant, "cloudlets", i), "cloudlet", name
    for image in rules.images:
        for i, name in enumerate(policy.at(("images", image)).get("cloudlets", ())):
            yield ("images", image, "cloudlets", i), "cloudlet", name
    for i, limit in enumerate(rules.migration.bandwidth):
        for key, name in (("from", limit.source), ("to", limit.destination)):
            if name is not None:
                yield ("migration", "bandwidth", i, key), "cloudlet", name
    for i, one in enumerate(rules.migration.schedule):
        yield ("migration", "schedule", i, "endpoint"), "endpoint", one.endpoint
    for vcp, found in rules.access.items():
        for i in range(len(found)):
            for key in ("from", "to"):
                for j, name in enumerate(policy.at(("access", vcp, i)).get(key, ())):
                    yield ("access", vcp, i, key, j), "endpoint", name
