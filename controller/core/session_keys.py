"""The key with which each BGP session of a cloudlet's PE is signed, step by step. Pure.

A session has two ends that cannot change at the same moment, and TCP-MD5 (RFC 2385) takes one key at a time. The key in
force for a session is decided here, and the database stores it before either end learns it. The controller then sends
it to both ends repeatedly, and neither waits for the other: whichever end crashes at any time, they agree in the end.
No key is in force before the agent reports that it holds it: an agent of a release without keys keeps its sessions. A
session that stands is broken off only while those with all other route servers have settled
(`controller.core.session_stability`)."""

import hashlib
import hmac
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class SessionKeys:
    """The keys of a cloudlet, named by random numbers. `wanted` is the target key, None for none; `held` the one that
    the agent reports to hold; `in_force` the key of each signed session, by route server; `seen` the key of each
    session that stands, as the agent sees it, "" for none."""

    wanted: str | None
    held: str | None = None
    in_force: Mapping[str, str] = field(default_factory=dict)
    seen: Mapping[str, str] = field(default_factory=dict)


def advance(
    keys: SessionKeys, servers: Collection[str], reachable: Collection[str], settled: Collection[str]
) -> dict[str, str]:
    """Return the keys to be in force next. `servers` are all route servers, `reachable` those that take keys now, and
    `settled` those that reliably supply routes while another session is broken off."""
    if keys.wanted is None:
        return {}
    now = {server: key for server, key in keys.in_force.items() if server in servers}
    if keys.held != keys.wanted:
        return now
    behind = [server for server in sorted(servers) if now.get(server) != keys.wanted and server in reachable]
    now |= {server: keys.wanted for server in behind if server not in keys.seen}  # there is no session to break off
    for server in behind:
        others = [other for other in servers if other != server]
        if all(other in settled and keys.seen.get(other) == now.get(other, "") for other in others):
            now[server] = keys.wanted
            break
    return now


def password(secret: bytes, cloudlet: str, server: str, key: str) -> str:
    """Return the key itself, 256 bits in hex, from the region's secret. The key of one session reveals nothing about
    another's, nor do the names of keys, which are all that is stored (HMAC-SHA-256 as a PRF, RFC 5869 section 2.3)."""
    return hmac.digest(secret, f"weft bgp session\0{cloudlet}\0{server}\0{key}".encode(), "sha256").hex()


def digest(keys: Mapping[str, str]) -> str:
    """Return the digest of passwords by address, as route servers report it (routeserver/docs/control-api.md)."""
    lines = sorted(f"{address} md5 {key}\n" for address, key in keys.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def standing(keys: SessionKeys) -> dict[str, str]:
    """Return how each session is signed, by route server, in words for users."""
    return {server: _standing(keys, server) for server in sorted({*keys.in_force, *keys.seen})}


def _standing(keys: SessionKeys, server: str) -> str:
    key, seen = keys.in_force.get(server), keys.seen.get(server)
    if key is None:
        return "not signed" if seen == "" else "no session"
    if seen != key:
        return "key in force, no session with it"
    return "signed" if key == keys.wanted else "signed, another key is to come"
