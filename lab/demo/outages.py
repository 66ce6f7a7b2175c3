"""The controller and each route server die and come back while pings run between members."""

import time
from collections.abc import Callable

from lab.demo.stage import Stage
from lab.errors import LabError

PING_SECONDS = 0.01
DOWN_SECONDS = 3.0


def play(stage: Stage) -> None:
    """Kill the daemons with SIGKILL one after the other, and wait for a whole region in between."""
    for name in ("controller", *stage.region.topology.route_servers):
        _kill(stage, name)


def _kill(stage: Stage, name: str) -> None:
    stage.title(f"kill -9 {name}, and start it again, with pings running")
    heard = stage.rest.announced()
    pairs = []
    for members in stage.pools().values():
        first, last = members[0], members[-1]
        if first != last:
            pairs += [(stage.device(first).name, stage.vm(last).name), (stage.device(last).name, stage.vm(first).name)]
    streams = {pair: stage.region.ping(pair[0], stage.region.address(pair[1]), PING_SECONDS) for pair in pairs}
    try:
        time.sleep(1)
        process = stage.region.processes[name]
        process.kill()
        time.sleep(DOWN_SECONDS)
        process.start()
        back = time.monotonic()
        _wait(lambda: _whole(stage) and stage.rest.announces(heard), f"the region after {name}")
        back = time.monotonic() - back
        time.sleep(2)
    finally:
        results = {pair: stream.stop() for pair, stream in streams.items()}
    lost = sum(result.lost for result in results.values())
    sent = sum(result.sent for result in results.values())
    streams_text = f"{len(results)} streams, {PING_SECONDS * 1e3:g} ms apart"
    figure = f"{lost} of {sent} pings lost ({streams_text}); all back after {back:.1f} s"
    stage.verdict.add(f"{name} killed", lost == 0 < sent, figure, lost=lost, sent=sent, back_seconds=back)


def _whole(stage: Stage) -> bool:
    """Return whether every agent is connected and every route server has the current rule set."""
    agents = [cloudlet["agent"] for cloudlet in stage.rest.items("/cloudlets")]
    servers = stage.rest.get("/route-servers")["items"]
    return all(agent["connected"] for agent in agents) and all(server["in_step"] for server in servers)


def _wait(done: Callable[[], bool], what: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not _quietly(done):
        if time.monotonic() > deadline:
            raise LabError(f"{what} did not come back within {seconds:g} s")
        time.sleep(0.1)


def _quietly(done: Callable[[], bool]) -> bool:
    try:
        return done()
    except LabError:
        return False
