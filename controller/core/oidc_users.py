"""Users of an OpenID Connect issuer and their permissions. Pure: the input is claims, the output a caller."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from controller.core.names import printable
from controller.core.roles import Caller, Role
from controller.wire.names import NAME_PATTERN

LONGEST = 90
"""The most characters of a name in the audit log."""


ALGORITHMS: Mapping[str, tuple[str, str | None]] = {
    "RS256": ("RSA", None),
    "RS384": ("RSA", None),
    "RS512": ("RSA", None),
    "PS256": ("RSA", None),
    "PS384": ("RSA", None),
    "PS512": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""Accepted signature algorithms (RFC 7518, section 3.1): the kind of the key, and the curve."""


class NoRole(Exception):  # noqa: N818 - an answer
    """The token is valid, but gives no permissions here; the message says why."""


@dataclass(frozen=True)
class Mapped:
    """The mapping from claims to a caller. `roles`: role by value of the claim at `role`, which is a text or a list of
    texts; a dot leads into an object, as in `realm_access.roles`. `name` and `tenant` are claims with one text."""

    roles: Mapping[str, Role] = field(default_factory=dict)
    role: str = "groups"
    tenant: str = "tenant"
    name: str = "sub"


def trusted(url: str) -> bool:
    """Return whether a URL can be trusted: it uses TLS, or leads to this machine."""
    parts = urlsplit(url)
    return bool(parts.hostname) and (
        parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost"))
    )


def caller(claims: Mapping[str, Any], mapped: Mapped) -> Caller:
    """Return the caller. Of several roles the greatest counts. Raises NoRole."""
    said = claims.get(mapped.name)
    name = "oidc:" + printable(said if isinstance(said, str) and said.strip() else str(claims["sub"]), LONGEST)
    values = _at(claims, mapped.role)
    there = [values] if isinstance(values, str) else values if isinstance(values, list) else []
    roles = [mapped.roles[value] for value in there if isinstance(value, str) and value in mapped.roles]
    if not roles:
        raise NoRole(f"{name}: nothing that the token's claim {mapped.role} says is a role here")
    role = max(roles, key=lambda one: one.rank)
    if role is not Role.TENANT:
        return Caller(name, role)
    tenant = _at(claims, mapped.tenant)
    if not isinstance(tenant, str) or len(tenant) > 63 or not re.fullmatch(NAME_PATTERN, tenant):
        raise NoRole(f"{name}: the token's claim {mapped.tenant} is to say which tenant this is")
    return Caller(name, role, tenant)


def kept(claims: Mapping[str, Any], mapped: Mapped) -> dict[str, Any]:
    """Return the claims that `caller` looks at."""
    paths = (mapped.name, mapped.role, mapped.tenant)
    names = {"sub", *paths, *(path.partition(".")[0] for path in paths)}
    return {name: value for name, value in claims.items() if name in names}


def _at(claims: Mapping[str, Any], path: str) -> Any:
    """Return the claim with exactly this name, or else the value at the end of the path."""
    if path in claims:
        return claims[path]
    value: Any = claims
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
