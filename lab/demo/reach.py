"""Reachability: inside a pool by LAN address, and nowhere else, not even through a member of both pools."""

import time
from collections.abc import Iterable
from itertools import permutations

from lab.demo.stage import Stage

Pair = tuple[str, str]

PING_SECONDS = 2.5


def _ping(stage: Stage, pairs: Iterable[Pair]) -> dict[Pair, float | None]:
    """Ping between stations for some seconds, all at once. Return the best round trip in ms, None where no reply
    came."""
    streams = {pair: stage.region.ping(pair[0], stage.region.address(pair[1]), interval=0.2) for pair in pairs}
    time.sleep(PING_SECONDS)
    return {
        pair: min((reply.rtt_ms for reply in stream.stop().replies), default=None) for pair, stream in streams.items()
    }


def within(stage: Stage) -> None:
    """Check that every device reaches the VMs of every other member of its pools."""
    stage.title("device to VM across cloudlets, by LAN address")
    for vcp, members in stage.pools().items():
        pairs = [(stage.device(a).name, stage.vm(b).name) for a, b in permutations(members, 2)]
        found = _ping(stage, pairs)
        reached = {pair: rtt for pair, rtt in found.items() if rtt is not None}
        shown = ", ".join(f"{a}→{b} {rtt:.1f} ms" for (a, b), rtt in reached.items())
        missing = "".join(f"; no reply {a}→{b}" for a, b in found if (a, b) not in reached)
        data = {f"{a}-{b}": rtt for (a, b), rtt in reached.items()}
        stage.verdict.add(f"pool {vcp} reaches itself", len(reached) == len(found) > 0, shown + missing, rtt_ms=data)


def between(stage: Stage) -> None:
    """Check that endpoints that share no pool do not reach each other."""
    stage.title("no reachability between pools")
    pools = stage.pools()
    members = sorted({member for names in pools.values() for member in names})
    apart = [
        (a, b) for a, b in permutations(members, 2) if not any(a in names and b in names for names in pools.values())
    ]
    found = _ping(stage, [(stage.device(a).name, stage.vm(b).name) for a, b in apart])
    leaked = [f"{a}→{b}" for (a, b), rtt in found.items() if rtt is not None]
    figure = f"{len(found) - len(leaked)} of {len(found)} pairs silent" + (
        f"; leaked: {', '.join(leaked)}" if leaked else ""
    )
    stage.verdict.add("pools are isolated", not leaked and bool(found), figure)


def through(stage: Stage) -> None:
    """Check that a device that routes by itself through the gateway of a shared member gets no further than that
    member."""
    stage.title("nothing goes through the shared member")
    pools = stage.pools()
    for shared in sorted({member for names in pools.values() for member in names}):
        inside = [names for names in pools.values() if shared in names]
        for first, second in permutations(inside, 2):
            sources = [name for name in first if name not in second]
            targets = [name for name in second if name not in first]
            for source, target in zip(sources, targets, strict=False):
                _attempt(stage, source, shared, target)


def _attempt(stage: Stage, source: str, shared: str, target: str) -> None:
    gateway = stage.rest.get(f"/endpoints/{shared}")["gateway"]
    device, vm = stage.device(source).name, stage.vm(target).name
    address = stage.region.address(vm)
    route = [f"{address}/32", "via", gateway, "dev", "eth0", "onlink"]
    control = stage.region.execute(device, ["ping", "-c", "2", "-W", "1", gateway]).returncode == 0
    stage.region.execute(device, ["ip", "route", "add", *route], check=True)
    try:
        leaked = stage.region.execute(device, ["ping", "-c", "3", "-i", "0.2", "-W", "1", address]).returncode == 0
    finally:
        stage.region.execute(device, ["ip", "route", "del", *route], check=True)
    near, far = ("answers" if answered else "silent" for answered in (control, leaked))
    figure = f"from {device}: {shared}'s gateway {near}, {vm} beyond it {far}"
    stage.verdict.add(f"no transit {source} → {shared} → {target}", control and not leaked, figure)
