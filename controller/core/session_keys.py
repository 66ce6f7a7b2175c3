"""Which key each BGP session of a cloudlet's PE is signed with, step by step. Pure.

A session has two ends that cannot change at the same moment, and TCP-MD5 (RFC 2385) takes one key at a time. What is in
force for a session is decided here and kept in the database before either end hears of it; both ends are brought to it
again and again, neither waits for the other, so that whoever crashes when, they meet. Nothing is in force before the
agent has said that it holds the key: one of a release that knows none keeps its sessions. A session that stands is only
broken off while those with all other route servers have settled (`controller.core.session_stability`).
"""

import hashlib
import hmac
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class SessionKeys:
    """A cloudlet's. Keys are named by random numbers. `wanted` is the one to come to, None for none; `held` the one
    that the agent says it has; `in_force` is what sessions are signed with, by route server, and of those without a key
    nothing; `seen` the key of each session that stands, as the agent sees it, "" for none."""

    wanted: str | None
    held: str | None = None
    in_force: Mapping[str, str] = field(default_factory=dict)
    seen: Mapping[str, str] = field(default_factory=dict)


def advance(
    keys: SessionKeys, servers: Collection[str], reachable: Collection[str], settled: Collection[str]
) -> dict[str, str]:
    """What is to be in force next. `servers` are all route servers, `reachable` those that take keys now, `settled`
    those that routes can be relied on to come from while another session is broken off."""
    if keys.wanted is None:
        return {}
    now = {server: key for server, key in keys.in_force.items() if server in servers}
    if keys.held != keys.wanted:
        return now
    behind = [server for server in sorted(servers) if now.get(server) != keys.wanted and server in reachable]
    now |= {server: keys.wanted for server in behind if server not in keys.seen}  # nothing there to break off
    for server in behind:
        others = [other for other in servers if other != server]
        if all(other in settled and keys.seen.get(other) == now.get(other, "") for other in others):
            now[server] = keys.wanted
            break
    return now


def password(secret: bytes, cloudlet: str, server: str, key: str) -> str:
    """The key itself, 256 bits in hex, from the region's secret: a key of one session says nothing of another's, nor do
    the names of keys, which are all that is kept (HMAC-SHA-256 as a PRF, RFC 5869 section 2.3)."""
    return hmac.digest(secret, f"weft bgp session\0{cloudlet}\0{server}\0{key}".encode(), "sha256").hex()


def digest(keys: Mapping[str, str]) -> str:
    """Of passwords by address, as route servers say it of theirs (routeserver/docs/control-api.md)."""
    lines = sorted(f"{address} md5 {key}\n" for address, key in keys.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def standing(keys: SessionKeys) -> dict[str, str]:
    """For people: how each session is signed, by route server."""
    return {server: _standing(keys, server) for server in sorted({*keys.in_force, *keys.seen})}


def _standing(keys: SessionKeys, server: str) -> str:
    key, seen = keys.in_force.get(server), keys.seen.get(server)
    if key is None:
        return "not signed" if seen == "" else "no session"
    if seen != key:
        return "key in force, no session with it"
    return "signed" if key == keys.wanted else "signed, another key is to come"
