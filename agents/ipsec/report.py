"""The part of the report about tunnels. Pure."""

from collections.abc import Iterable
from dataclasses import asdict

from agents.ipsec.drops import Drops
from agents.ipsec.tunnel import TunnelState
from controller.wire.tunnels import Condition, Ipsec, IpsecTunnel


def told(vtep: str, states: Iterable[TunnelState], drops: Drops, problem: str | None, now: float) -> Ipsec:
    """Return that part of the report. `vtep` is this end's; `now` is in monotonic seconds."""
    return Ipsec(
        tunnels=sorted((_tunnel(vtep, s, drops, now) for s in states), key=lambda t: (t.cloudlet, t.remote)),
        dropped_in=drops.packets_in,
        dropped_out=drops.packets_out,
        problem=(problem or "")[:300],
    )


def _tunnel(vtep: str, state: TunnelState, drops: Drops, now: float) -> IpsecTunnel:
    condition: Condition = "up" if state.up else "connecting" if state.coming else "down"
    return IpsecTunnel(
        cloudlet=state.peer.cloudlet,
        local=vtep,
        remote=state.peer.vtep,
        state=condition,
        age=_seconds(now - state.since),
        ike=state.ike[:120],
        esp=state.esp[:120],
        keyed=_seconds(now - state.keyed) if state.keyed is not None else None,
        rekey=_seconds(state.rekey - now) if state.rekey is not None else None,
        dropped_in=drops.came_from.get(state.peer.vtep, 0),
        dropped_out=drops.meant_for.get(state.peer.vtep, 0),
        why="" if state.up else state.why,
        **asdict(state.traffic),
    )


def _seconds(length: float) -> float:
    return round(max(0.0, length), 1)
