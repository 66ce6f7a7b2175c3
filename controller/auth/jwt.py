"""The only module that imports PyJWT. Checks JSON Web Tokens (RFC 7519) that another party signs, as RFC 8725 says. A
token never chooses how it is checked: its algorithm must be a configured one, and its `kid` must name a key of the
issuer."""

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jwt

from controller.core.oidc_users import ALGORITHMS

TYPES = (None, "jwt", "at+jwt", "application/at+jwt")
"""Values of `typ` that an access token may have (RFC 9068). A logout token of the same issuer, for example, has
another."""

LONGEST = 8192
"""Maximum number of characters of a token."""

REQUIRED = ["iss", "sub", "aud", "exp", "iat"]


class BadToken(Exception):  # noqa: N818 - an answer
    """The token is not accepted; the message gives the reason and does not quote the token."""


@dataclass(frozen=True)
class Header:
    """The algorithm and key that a token claims to be signed with. Both are unverified."""

    algorithm: str
    kid: str | None


@dataclass(frozen=True)
class Expected:
    """The claims that a token must have. `skew`: seconds that clocks may differ; `lifetime`: maximum seconds that a
    token is valid after its issue, even if its `exp` is later."""

    issuer: str
    audience: tuple[str, ...]
    algorithms: tuple[str, ...]
    skew: float
    lifetime: float


def looks_like(token: str) -> bool:
    """Return whether the token has the form of a signed JWT. No API token has this form."""
    return token.count(".") == 2


def header(token: str, algorithms: Collection[str]) -> Header:
    """Return the header of an unverified token. Raises BadToken for a token that no signature could make valid."""
    if len(token) > LONGEST:
        raise BadToken("the token is too long")
    try:
        said = jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        raise BadToken("this is not a signed JSON Web Token") from None
    kid, typ = said.get("kid"), said.get("typ")
    if said.get("alg") not in algorithms:
        raise BadToken(f"the token's algorithm is none of {', '.join(algorithms)}")
    if not (typ is None or (isinstance(typ, str) and typ.lower() in TYPES)):
        raise BadToken("the token is of another kind")
    if not (kid is None or isinstance(kid, str)):
        raise BadToken("the token's kid is not a text")
    return Header(str(said["alg"]), kid)


def keys(documents: Iterable[Any]) -> dict[str | None, Mapping[str, Any]]:
    """Return the public signature keys among an issuer's JWKs, by `kid`. Leaves out unusable keys, and all keys that
    share a `kid`."""
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
    """Return the claims of a token that is signed with this key and valid now. Raises BadToken."""
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
        raise BadToken("the token is for another audience") from None
    except jwt.InvalidIssuerError:
        raise BadToken("the token is of another issuer") from None
    except jwt.MissingRequiredClaimError as error:
        raise BadToken(f"the token does not say its {error.claim}") from None
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError):
        raise BadToken("the token's signature is wrong") from None
    if time.time() - found["iat"] > expected.lifetime + expected.skew:
        raise BadToken("the token was issued too long ago")
    return found
