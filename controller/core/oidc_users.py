"""People whom an issuer of OpenID Connect knows: what may they do here? Pure: claims in, a caller out."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from controller.core.names import printable
from controller.core.roles import Caller, Role
from controller.wire.names import NAME_PATTERN

LONGEST = 90
"""Characters of a name in the audit log."""


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
"""Algorithms of signatures that can be believed (RFC 7518, section 3.1): the kind of the key, and the curve."""


class NoRole(Exception):  # noqa: N818 - an answer
    """The token is good, and may do nothing here; the message says why."""


@dataclass(frozen=True)
class Mapped:
    """How claims become a caller. `roles`: role by value of the claim at `role`, which is a text or a list of them; a
    dot leads into an object, as in `realm_access.roles`. `name` and `tenant` are claims with one text."""

    roles: Mapping[str, Role] = field(default_factory=dict)
    role: str = "groups"
    tenant: str = "tenant"
    name: str = "sub"


def trusted(url: str) -> bool:
    """Whether what comes from there can be believed: over TLS, or from this machine."""
    parts = urlsplit(url)
    return bool(parts.hostname) and (
        parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost"))
    )


def caller(claims: Mapping[str, Any], mapped: Mapped) -> Caller:
    """Who it is. Of several roles the greatest counts. Raises NoRole."""
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


def _at(claims: Mapping[str, Any], path: str) -> Any:
    """A claim of that very name, or what a path leads to."""
    if path in claims:
        return claims[path]
    value: Any = claims
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
