"""The permissions of callers: their roles, and the one table of the role that each part of the API needs. Pure.

Roles are steps: each may do all that the previous one may. A part of the API that is not in the table is for admins
only. A tenant is not one of these steps: it has its own list of operations, which concern only its own endpoints."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Role(StrEnum):
    """Roles from the least to the greatest; a tenant is not one of these steps."""

    TENANT = "tenant"
    VIEWER = "viewer"
    ENGINEER = "network-engineer"
    OPERATOR = "operator"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """The position of the role in this order."""
        return tuple(Role).index(self)


@dataclass(frozen=True)
class Least:
    """The least roles that may look at a part of the API, and change it."""

    look: Role
    change: Role


@dataclass(frozen=True)
class Caller:
    """A caller: its name in the audit log, and its role. `tenant` is the caller's tenant, for the role of that name.
    `until` is the end of its token or session, if it has one."""

    name: str
    role: Role
    tenant: str | None = None
    until: datetime | None = None


SOCKET = Caller("unix socket", Role.ADMIN)
ADMIN = Caller("admin token", Role.ADMIN)


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
    "inventory": _operations,
    "cloudlets": _operations,
    "devices": _operations,
    "vms": _operations,
    "moves": _operations,
    "leases": _operations,
    "routes": _operations,
    "neighbours": _operations,
    "images": _operations,
    "sightings": _operations,
    "tunnels": _operations,
    "doctor": _operations,
    "health": _operations,
    "events": _operations,
    "webhooks": Least(Role.OPERATOR, Role.OPERATOR),
    "audit": Least(Role.OPERATOR, Role.ADMIN),
    "tokens": Least(Role.ADMIN, Role.ADMIN),
}
"""The table, by the tags of the API's operations."""

PATH, QUERY, OWN, SELF = "path", "query", "own", "self"

TENANTS = {
    ("GET", "/api/v1/whoami"): (SELF, ""),
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
"""The operations of a tenant, and where the request names the endpoint, which must be its own: in the path, in the
query, or nowhere, as the answer contains only the tenant's own, or nothing but the caller."""

UNKNOWN = Least(Role.ADMIN, Role.ADMIN)

QUESTIONS = (
    "/api/v1/policy/check", "/api/v1/policy/test", "/api/v1/policy/plan", "/api/v1/inventory/check",
    "/api/v1/inventory/plan",
)  # fmt: skip
"""Questions that use POST because they are long; they change nothing."""


def looks(method: str, path: str) -> bool:
    """Return whether an operation only looks. `path` is the operation's, with its parameters' names."""
    return method in ("GET", "HEAD") or path in QUESTIONS


def lacking(role: Role, method: str, path: str, tags: Collection[str]) -> str | None:
    """Return why a role may not do an operation, as a message for the caller; None if it may."""
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
    """Return the endpoints that a tenant's request names, each of which has to be its own; None if it has to name one
    and does not. A query may have a name twice: all of them count."""
    where, key = TENANTS[method, path]
    if where == PATH:
        return [parameters[key]]
    return ([value for name, value in query if name == key] or None) if where == QUERY else []
