"""The door to PyJWT: JSON Web Tokens (RFC 7519) that somebody else signs, checked as RFC 8725 says. A token never says
what it is to be checked with: its algorithm has to be one of ours, and its key is one of the issuer's, by `kid`."""

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jwt

from controller.core.oidc_users import ALGORITHMS

"""What may be configured: asymmetric algorithms, with the type and curve of their keys (RFC 7518, RFC 8037)."""

TYPES = (None, "jwt", "at+jwt", "application/at+jwt")
"""`typ` of what lets somebody in (RFC 9068); a logout token of the same issuer, for one, does not."""

LONGEST = 8192
"""Characters of a token."""

REQUIRED = ["iss", "sub", "aud", "exp", "iat"]


class BadToken(Exception):  # noqa: N818 - an answer
    """The token lets nobody in; the message says why, without quoting it."""


@dataclass(frozen=True)
class Header:
    """Which key a token says that it is signed with, and how. Nothing of it is to be believed."""

    algorithm: str
    kid: str | None


@dataclass(frozen=True)
class Expected:
    """What a token has to say. `skew`: seconds that clocks may differ; `lifetime`: seconds after its issue in which a
    token is good at most, whatever it says itself."""

    issuer: str
    audience: tuple[str, ...]
    algorithms: tuple[str, ...]
    skew: float
    lifetime: float


def looks_like(token: str) -> bool:
    """Whether it has the form of a signed JWT; no API token has."""
    return token.count(".") == 2


def header(token: str, algorithms: Collection[str]) -> Header:
    """Of a token that nobody has checked. Raises BadToken for one that could not be good whatever its signature."""
    if len(token) > LONGEST:
        raise BadToken("the token is too long")
    try:
        said = jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        raise BadToken("this is no signed JSON Web Token") from None
    kid, typ = said.get("kid"), said.get("typ")
    if said.get("alg") not in algorithms:
        raise BadToken(f"the token's algorithm is none of {', '.join(algorithms)}")
    if not (typ is None or (isinstance(typ, str) and typ.lower() in TYPES)):
        raise BadToken("the token is of another kind")
    if not (kid is None or isinstance(kid, str)):
        raise BadToken("the token's kid is no text")
    return Header(str(said["alg"]), kid)


def keys(documents: Iterable[Any]) -> dict[str | None, Mapping[str, Any]]:
    """The public keys for signatures among the JWKs of an issuer, by `kid`. What is of no use is left out; so are all
    keys that have the same `kid` as another."""
    kinds = {kty for kty, _ in ALGORITHMS.values()}
    found: dict[str | None, Mapping[str, Any]] = {}
    twice: set[str | None] = set()
    for one in documents:
        if not isinstance(one, dict) or one.get("kty") not in kinds or one.get("use", "sig") != "sig" or "d" in one:
            continue
        kid = one.get("kid")
        if not (kid is None or isinstance(kid, str)):
            continue
        twice |= {kid} & found.keys()
        found[kid] = one
    return {kid: one for kid, one in found.items() if kid not in twice}


def claims(token: str, said: Header, key: Mapping[str, Any], expected: Expected) -> dict[str, Any]:
    """What a token says, if it is signed with that key and good now. Raises BadToken."""
    kty, curve = ALGORITHMS[said.algorithm]
    if key.get("kty") != kty or key.get("crv") != curve or key.get("alg", said.algorithm) != said.algorithm:
        raise BadToken("the token's key is not for its algorithm")
    try:
        found: dict[str, Any] = jwt.decode(
            token,
            jwt.PyJWK(dict(key), said.algorithm),
            algorithms=[said.algorithm],
            issuer=expected.issuer,
            audience=expected.audience,
            leeway=expected.skew,
            options={"require": REQUIRED, "enforce_minimum_key_length": True},
        )
    except jwt.ExpiredSignatureError:
        raise BadToken("the token is expired") from None
    except (jwt.ImmatureSignatureError, jwt.InvalidIssuedAtError):
        raise BadToken("the token is not good yet") from None
    except jwt.InvalidAudienceError:
        raise BadToken("the token is for somebody else") from None
    except jwt.InvalidIssuerError:
        raise BadToken("the token is of another issuer") from None
    except jwt.MissingRequiredClaimError as error:
        raise BadToken(f"the token does not say its {error.claim}") from None
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError):
        raise BadToken("the token's signature is wrong") from None
    if time.time() - found["iat"] > expected.lifetime + expected.skew:
        raise BadToken("the token was issued too long ago")
    return found
