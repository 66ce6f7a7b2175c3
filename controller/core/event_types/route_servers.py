"""Events of route servers, which each controller takes over into the log, and events about route servers."""

from collections.abc import Mapping

from controller.core.event_types.event_type import EventType

_SEEN = ("seq", "at", "kind", "peer", "text", "route_server")
"""The data of an event that a route server has seen: its own fields, and its name."""


def _peer(when: str) -> EventType:
    """Return a type about a PE, at the route server that saw it."""
    return EventType(when, "PE", "PE", _SEEN)


def _own(when: str) -> EventType:
    """Return a type about the route server itself."""
    return EventType(when, "route server", "route server", _SEEN)


SEEN_BY_ROUTE_SERVERS: Mapping[str, EventType] = {
    "session-up": _peer("A BGP session is established."),
    "session-down": _peer("A BGP session has ended; the text has the reason."),
    "connections": _peer("A PE opens more connections a second than `--connect-rate`; the others are refused."),
    "reset": EventType("An operator reset a BGP session.", "PE", "operator", _SEEN),
    "refresh": EventType("An operator had routes asked for or sent anew (RFC 2918).", "PE", "operator", _SEEN),
    "quarantined": _peer("Routes of a PE went into quarantine; the text has reason and route targets."),
    "treat-as-withdraw": _peer("A malformed UPDATE was treated as withdrawal (RFC 7606)."),
    "attribute-discard": _peer("An attribute of an UPDATE was left out (RFC 7606)."),
    "withdrawal-ignored": _peer("A PE withdrew routes that it had not announced."),
    "withheld": _peer("A route exceeds the messages that a PE takes, and is not sent to it."),
    "limit": _peer("A PE's session ends, or an endpoint is in quarantine, because a limit is exceeded."),
    "near-limit": _peer("A PE has announced four fifths of the routes or bytes at which its session ends."),
    "stale": _peer("A PE was not back within its restart time; its routes are withdrawn."),
    "long-lived-stale": _peer("A PE's routes are kept as long-lived stale (RFC 9494), or that time is over."),
    "poison-suspected": _peer("A PE ended its session for a route; what it was sent last is suspected."),
    "poison-route": _peer("A route was found to end a PE's sessions, and is held back from it."),
    "poison-source": _peer("All routes of one announcer are held back from a PE."),
    "poison-cleared": _peer("Suspected routes were tried, and are sent again."),
    "poison-lifted": _peer("A route that was held back is sent again, because its time is over or by request."),
    "restart": _own("The route server has sent End-of-RIB after its own restart."),
    "rollback": _own("A generation on trial was not confirmed in time; the one before is in force."),
    "rollback-failed": _own("A generation on trial was not confirmed in time, and cannot be rolled back yet."),
    "lease": _own("Neither controller nor twin was heard of for `--lease`; BGP is closed."),
    "twin": _own("The twin answers, does not answer, or its rule set was taken over."),
    "twin-behind": _own("The controller gives the twin an older generation than this route server has."),
}

ROUTE_SERVERS: Mapping[str, EventType] = {
    **SEEN_BY_ROUTE_SERVERS,
    "route-server-reachable": EventType(
        "A route server is reachable and at the current generation.", "route server", "route server"
    ),
    "route-server-unreachable": EventType(
        "A route server is not reachable, or refuses.", "route server", "route server", ("reason",)
    ),
    "poison-released": EventType("An operator released what was held back from a PE.", "PE", "operator"),
}
