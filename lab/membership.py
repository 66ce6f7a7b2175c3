"""One join or leave, measured as a user notices it: from the REST call to the first ping across, and from the reply to
the last frame on the WAN."""

import time
from dataclasses import dataclass
from typing import Any

from lab.errors import LabError
from lab.region import Region
from lab.rest import Json, Rest

# How long a first ping across may take before the join counts as failed, and how long after a leave frames are watched.
PATIENCE_SECONDS = 10.0
AFTERMATH_SECONDS = 1.5


@dataclass(frozen=True)
class JoinTiming:
    """`first_reply_ms` is the time from the start of the REST call to the first ping reply, `call_ms` the time until
    the call's answer. `rtt_ms` is the median of the pings after it: distance alone costs that much."""

    first_reply_ms: float
    call_ms: float
    rtt_ms: float
    answer: Json


@dataclass(frozen=True)
class LeaveTiming:
    """`last_frame_ms` is when the last frame from the leaver passed the core, relative to the reply: negative is before
    it, None if no frame was seen at all. `late_frames` is how many passed after the reply."""

    last_frame_ms: float | None
    late_frames: int
    frames: int
    call_ms: float
    answer: Json


def timed_join(region: Region, rest: Rest, vcp: str, endpoint: str, station: str, address: str) -> JoinTiming:
    """Join `endpoint` to `vcp` while `station` pings `address` every 5 ms; no ping may get through before."""
    with region.ping(station, address, interval=0.005) as stream:
        time.sleep(0.3)
        if stream.replies():
            raise LabError(f"{station} reaches {address} before {endpoint} joins {vcp}")
        began = time.time()
        answer = rest.post(f"/vcps/{vcp}/members", {"endpoint": endpoint})
        answered = time.time()
        first = stream.wait_reply(began, PATIENCE_SECONDS)
        if first is None:
            raise LabError(f"no ping from {station} to {address} within {PATIENCE_SECONDS:g} s of joining {vcp}")
        time.sleep(0.2)
        rtts = sorted(reply.rtt_ms for reply in stream.stop().replies)
    return JoinTiming((first.at - began) * 1e3, (answered - began) * 1e3, rtts[len(rtts) // 2], answer)


def timed_leave(
    region: Region, rest: Rest, vcp: str, endpoint: str, station: str, address: str, leaver_vtep: str
) -> LeaveTiming:
    """Take `endpoint` out of `vcp` while `station` (behind the leaver) pings `address` every 5 ms. The capture is where
    frames enter the core from the leaver's WAN link, so that none can pass unseen."""
    expression = f"udp dst port 4789 and src host {leaver_vtep}"
    with region.capture("core", expression, interface="any", direction="in") as capture:
        with region.ping(station, address, interval=0.005) as stream:
            began = time.time()
            if stream.wait_reply(began, 2) is None:
                raise LabError(f"{station} does not reach {address} before {endpoint} leaves {vcp}")
            began = time.time()
            answer = rest.delete(f"/vcps/{vcp}/members/{endpoint}")
            answered = time.time()
            time.sleep(AFTERMATH_SECONDS)
        frames = [frame.at for frame in capture.stop()]
    return LeaveTiming(
        last_frame_ms=(max(frames) - answered) * 1e3 if frames else None,
        late_frames=sum(1 for at in frames if at > answered),
        frames=len(frames),
        call_ms=(answered - began) * 1e3,
        answer=answer,
    )


def confirmations(answer: dict[str, Any]) -> str:
    """Return the route servers and agents that have confirmed a change, in one line."""
    servers = ", ".join(f"{receipt['route_server']} {receipt['duration_us']} µs" for receipt in answer["route_servers"])
    agents = ", ".join(
        f"{agent['cloudlet']} {agent['after_ms']:.0f} ms" for agent in answer["agents"] if agent["confirmed"]
    )
    return f"generation {answer['generation']}; {servers or 'no route server'}; {agents or 'no agent'}"
