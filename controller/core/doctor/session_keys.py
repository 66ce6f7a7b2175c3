"""The comparison of the keys with which BGP sessions should be signed with those that are used."""

from collections.abc import Iterator, Mapping, Sequence

from controller.core.doctor.difference import Difference
from controller.core.doctor.kinds import DifferenceKind
from controller.core.doctor.ribs import RouteServer
from controller.core.session_keys import SessionKeys


def compare_session_keys(keys: Mapping[str, SessionKeys], servers: Sequence[RouteServer]) -> Iterator[Difference]:
    """Yield the differences of every session that a route server has, by cloudlet. A missing session is a difference of
    another kind, and a cloudlet that is to have no key is skipped."""
    for cloudlet, its in sorted(keys.items()):
        for server in sorted(servers, key=lambda server: server.name):
            if its.wanted is None or server.sessions.get(cloudlet) != "established":
                continue
            key, seen = its.in_force.get(server.name), its.seen.get(server.name)
            if key == its.wanted and seen in (key, None):
                continue
            if its.held != its.wanted:
                why = "its agent has not said that it holds the key (over HTTP, and in an earlier release, it has none)"
            elif key != its.wanted:
                why = f"its turn is when those with the other route servers stand, and {server.name} takes keys"
            else:
                why = "the key is in force, and the session is from before it"
            found = "signed with another key" if seen else "not signed"
            text = f"The session of {cloudlet} with {server.name} is {found}: {why}."
            yield Difference(
                DifferenceKind.SESSION_KEY,
                f"BGP sessions of {cloudlet}",
                server.name,
                "signed with its key",
                found,
                text,
            )
