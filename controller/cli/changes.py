"""What a change of membership did: how long it took, what the route servers sent, whose kernels agreed."""

from typing import Any

from controller.cli.failures import CheckFailed
from controller.cli.output import emit, milliseconds, say, table
from controller.cli.session import session

Change = dict[str, Any]


def print_change(what: str, change: Change) -> None:
    """Raises CheckFailed when the change is made but not everywhere in force."""
    if session.json:
        emit(change)
    elif change.get("dry_run"):
        say(f"{what}: this is what would happen")
    elif change["in_force"]:
        say(f"{what}: in force after {milliseconds(change['duration_ms'])}, generation {change['generation']}")
    else:
        say(f"{what}: generation {change['generation']}, not yet in force everywhere")
    if not session.json:
        _parts(change)
    missing = [f"route server {name}" for name in change.get("unreachable") or []]
    missing += [f"agent of {agent['cloudlet']}" for agent in change.get("agents") or [] if not agent["confirmed"]]
    missing += [f"PE of {name}" for name in change.get("behind") or []]
    if not change["in_force"] and not change.get("dry_run"):
        who = ", ".join(missing) or "somebody"
        raise CheckFailed(f"made, but not confirmed within the time allowed by: {who}")


def _parts(change: Change) -> None:
    lines = [_receipt(receipt) for receipt in change.get("route_servers") or []]
    lines += [["✗", f"route server {name}", "not reached", "-"] for name in change.get("unreachable") or []]
    lines += [["✗", f"PE of {name}", "does not take what it is sent", "-"] for name in change.get("behind") or []]
    for agent in change.get("agents") or []:
        if change.get("dry_run"):
            lines.append(["·", f"agent of {agent['cloudlet']}", "would be told", "-"])
        else:
            tick, text = ("✓", "kernel agrees") if agent["confirmed"] else ("✗", "has not confirmed")
            lines.append([tick, f"agent of {agent['cloudlet']}", text, milliseconds(agent.get("after_ms"))])
    if lines:
        table(["", "WHO", "WHAT", "AFTER"], lines)


def _receipt(receipt: dict[str, Any]) -> list[object]:
    peers = [str(peer["peer"]) for peer in receipt.get("peers") or []]
    to = f" to {', '.join(peers)}" if len(peers) <= 6 else f" to {len(peers)} PEs"
    sent = f"{receipt['announced']} announced, {receipt['withdrawn']} withdrawn{to if peers else ''}"
    mark = "·" if receipt.get("dry_run") else "✓"
    return [mark, f"route server {receipt['route_server']}", sent, milliseconds(receipt["duration_us"] / 1000)]
