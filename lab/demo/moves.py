"""A cloudlet joins a pool and leaves it again."""

from lab.demo.stage import Stage
from lab.membership import JoinTiming, confirmations, timed_join, timed_leave

# CloudNet, section 4.2: adding a site to a VPN by reconfiguring routers (s), plus BGP propagation.
CLOUDNET_SECONDS = 24.24
JOIN_TARGET_MS = 250.0
TIMES = 3
"""How often an endpoint joins: the middle of three is what a join takes, even if the machine is busy for a moment."""


def join(stage: Stage, vcp: str, endpoint: str, witness: str) -> None:
    """Let `endpoint` join `vcp` TIMES times while a device behind `witness`, a member already, pings its VM; in the end
    it is a member."""
    stage.title(f"{endpoint} joins {vcp}")
    address, found = stage.region.address(stage.vm(endpoint).name), list[JoinTiming]()
    while len(found) < TIMES:
        if found:
            stage.rest.delete(f"/vcps/{vcp}/members/{endpoint}")
        found.append(timed_join(stage.region, stage.rest, vcp, endpoint, stage.device(witness).name, address))
        stage.note(confirmations(found[-1].answer))
    middle = sorted(found, key=lambda one: one.first_reply_ms)[TIMES // 2]
    figure = (
        f"first ping {middle.first_reply_ms:.0f} ms after the REST call, the middle of "
        f"{', '.join(f'{one.first_reply_ms:.0f}' for one in found)} (answered after {middle.call_ms:.0f} ms; "
        f"RTT {middle.rtt_ms:.0f} ms; CloudNet: {CLOUDNET_SECONDS} s)"
    )
    in_force = all(one.answer["in_force"] for one in found)
    stage.verdict.add(
        f"join {endpoint} to {vcp}",
        in_force and middle.first_reply_ms < JOIN_TARGET_MS + middle.rtt_ms,
        figure,
        first_reply_ms=middle.first_reply_ms,
        call_ms=middle.call_ms,
        rtt_ms=middle.rtt_ms,
    )


def leave(stage: Stage, vcp: str, endpoint: str, witness: str) -> None:
    """Let `endpoint` leave `vcp` while its device pings a VM behind `witness`."""
    stage.title(f"{endpoint} leaves {vcp}")
    device, vm = stage.device(endpoint).name, stage.vm(witness).name
    timing = timed_leave(
        stage.region, stage.rest, vcp, endpoint, device, stage.region.address(vm), stage.cloudlet(endpoint).vtep
    )
    stage.note(confirmations(timing.answer))
    last = f"{timing.last_frame_ms:+.1f} ms" if timing.last_frame_ms is not None else "never"
    figure = (
        f"last of {timing.frames} frames from {device} on the WAN at {last} from the reply "
        f"({timing.call_ms:.0f} ms after the call); {timing.late_frames} after it"
    )
    ok = bool(timing.answer["in_force"]) and timing.frames > 0 and timing.late_frames == 0
    stage.verdict.add(
        f"leave {endpoint} from {vcp}",
        ok,
        figure,
        last_frame_ms=timing.last_frame_ms,
        frames=timing.frames,
        late_frames=timing.late_frames,
        call_ms=timing.call_ms,
    )
