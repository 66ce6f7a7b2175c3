"""What callers may do: their roles, and the one table of what each part of the API takes. Pure.

Roles are steps: each may do all that the one before it may. A part of the API that the table does not know is the
admins' alone. A tenant stands beside them: what it may is a list of its own, and about its own endpoints only.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """From the least to the most; a tenant is none of these steps."""

    TENANT = "tenant"
    VIEWER = "viewer"
    ENGINEER = "network-engineer"
    OPERATOR = "operator"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """Its place among them."""
        return tuple(Role).index(self)


@dataclass(frozen=True)
class Least:
    """The least roles that may look at a part of the API, and change what it is about."""

    look: Role
    change: Role


@dataclass(frozen=True)
class Caller:
    """Who asks, as it is written down, and what that one may do. `tenant` is whose it is, for the role of that name."""

    name: str
    role: Role
    tenant: str | None = None


_network = Least(Role.VIEWER, Role.ENGINEER)
_operations = Least(Role.VIEWER, Role.OPERATOR)

TABLE = {
    "endpoints": _network,
    "consents": Least(Role.VIEWER, Role.ADMIN),
    "vcps": _network,
    "members": _network,
    "changes": _network,
    "policy": _network,
    "addresses": _network,
    "cloudlets": _operations,
    "devices": _operations,
    "vms": _operations,
    "moves": _operations,
    "leases": _operations,
    "routes": _operations,
    "neighbours": _operations,
    "sightings": _operations,
    "tunnels": _operations,
    "doctor": _operations,
    "health": _operations,
    "events": _operations,
    "audit": Least(Role.OPERATOR, Role.ADMIN),
    "tokens": Least(Role.ADMIN, Role.ADMIN),
}
"""By the tags of the API's operations."""

PATH, QUERY, OWN = "path", "query", "own"

TENANTS = {
    ("GET", "/api/v1/endpoints"): (OWN, ""),
    ("GET", "/api/v1/endpoints/{name}"): (PATH, "name"),
    ("POST", "/api/v1/endpoints/{name}/consent"): (PATH, "name"),
    ("DELETE", "/api/v1/endpoints/{name}/consent"): (PATH, "name"),
    ("GET", "/api/v1/addresses/{name}"): (PATH, "name"),
    ("GET", "/api/v1/addresses/dns"): (QUERY, "endpoint"),
    ("GET", "/api/v1/addresses/{endpoint}/statics"): (PATH, "endpoint"),
    ("POST", "/api/v1/addresses/{endpoint}/statics"): (PATH, "endpoint"),
    ("DELETE", "/api/v1/addresses/{endpoint}/statics/{name}"): (PATH, "endpoint"),
    ("GET", "/api/v1/leases"): (QUERY, "endpoint"),
    ("GET", "/api/v1/reservations"): (QUERY, "endpoint"),
    ("GET", "/api/v1/filters"): (QUERY, "endpoint"),
    ("GET", "/api/v1/vms"): (QUERY, "endpoint"),
}
"""What a tenant may do, and where the request names the endpoint that has to be its own: in the path, in the query, or
nowhere, since the answer has the tenant's own and nothing else."""

UNKNOWN = Least(Role.ADMIN, Role.ADMIN)

QUESTIONS = ("/api/v1/policy/check", "/api/v1/policy/test", "/api/v1/policy/plan")
"""What is asked with a POST since the question is long, and changes nothing."""


def looks(method: str, path: str) -> bool:
    """Whether an operation only looks. `path` is the operation's, with its parameters' names."""
    return method in ("GET", "HEAD") or path in QUESTIONS


def lacking(role: Role, method: str, path: str, tags: Collection[str]) -> str | None:
    """Why a role may not do an operation, for whoever is refused; None if it may."""
    if role is Role.TENANT and (method, path) in TENANTS:
        return None
    look = looks(method, path)
    rows = [TABLE.get(tag, UNKNOWN) for tag in tags] or [UNKNOWN]
    least = max((row.look if look else row.change for row in rows), key=lambda found: found.rank)
    if role is not Role.TENANT and role.rank >= least.rank:
        return None
    what = f"{'look at' if look else 'change'} {' and '.join(sorted(tags)) or 'this'}"
    return f"the role {role} may not {what}; that takes {least}" + ("" if least is Role.ADMIN else " or more")


def endpoints_named(
    method: str, path: str, parameters: Mapping[str, str], query: Sequence[tuple[str, str]]
) -> list[str] | None:
    """The endpoints that a tenant's request names, each of which has to be its own; None if it has to name one and does
    not. A query may have a name twice: all of them count."""
    where, key = TENANTS[method, path]
    if where == PATH:
        return [parameters[key]]
    return ([value for name, value in query if name == key] or None) if where == QUERY else []
