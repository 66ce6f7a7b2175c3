"""Detection of a database that was restored from an old copy: a route server is ahead of it. Pure."""

from controller.wire.rulesets import Endpoint, Peer, RuleSet

MOST = 8
"""The most memberships that are named; of the others there is the number."""


def given_back(found: RuleSet, wanted: RuleSet) -> list[str]:
    """Return the memberships of `wanted` that `found`, which is later, does not have: with `wanted` in force, endpoints
    would see each other that must not any more. A member with another PE or route target is not the same one."""
    endpoints, now = _placed(found), _placed(wanted)
    members = {vcp.name: frozenset(vcp.members) for vcp in found.vcps}
    return [
        f"{name} in {vcp.name}"
        for vcp in wanted.vcps
        if len(vcp.members) > 1
        for name in vcp.members
        if name not in members.get(vcp.name, frozenset()) or endpoints.get(name) != now.get(name)
    ]


def _placed(rules: RuleSet) -> dict[str, tuple[Endpoint, Peer]]:
    """Return the endpoints with their PEs; the permits of a PE make no difference to which endpoints see it."""
    peers = {peer.name: peer for peer in rules.peers}
    return {e.name: (e.model_copy(update={"permits": None}), peers[e.peer]) for e in rules.endpoints}


def claim(server: str, found: RuleSet, wanted: RuleSet) -> str:
    """Return why `wanted` must not simply overtake a route server's rules; empty if it may."""
    back = given_back(found, wanted)
    if not back:
        return ""
    names = ", ".join(back[:MOST]) + (f" and {len(back) - MOST} more" if len(back) > MOST else "")
    return (
        f"{server} is at generation {found.generation}, and the database is an older copy, which would give back "
        f"{names}. Take that away once more, or put the copy in force: weft route overtake"
    )
