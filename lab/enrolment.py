"""The enrolment of a region's cloudlets over REST: invites them, starts their agents, and registers their LANs and
devices."""

import functools

from lab import daemons
from lab.lock import Progress
from lab.plan import Plan, hosts
from lab.rest import Rest
from lab.secret import secret
from lab.topology import Topology
from lab.watch import Watch


def enrol(topology: Topology, plan: Plan, watch: Watch, progress: Progress) -> None:
    """Enrol all cloudlets, and return when the route servers have received routes of every endpoint. Raises
    LabError."""
    cloudlets = topology.cloudlets
    members = [*hosts(topology, plan), *cloudlets]  # hosts first, so that BGP is never unencrypted
    servers = f" and {len(members) - len(cloudlets)} hosts of route servers" if len(members) > len(cloudlets) else ""
    progress(f"enrolling {len(cloudlets)} cloudlets{servers}")
    with Rest() as rest:
        for cloudlet in members:
            secret(daemons.token_file(cloudlet), rest.invite(cloudlet))
            watch.start(daemons.agent(cloudlet, topology, plan))
        for cloudlet in members:
            late = f"the agent of {cloudlet.name} does not connect"
            watch.wait(functools.partial(rest.connected, cloudlet), 120, late)
        for cloudlet in cloudlets:
            for endpoint in cloudlet.endpoints:
                rest.create_endpoint(cloudlet, endpoint)
        for _, station in topology.stations:
            if station.works_for is None:
                rest.register(topology, station)
        progress(f"waiting for {2 * len(cloudlets)} BGP sessions and a route of every endpoint")
        missing = functools.partial(_unannounced, topology, rest)
        watch.wait(lambda: not missing(), 90, lambda: "; ".join(missing()))


def _unannounced(topology: Topology, rest: Rest) -> list[str]:
    """Return the route servers that have not received a route of every endpoint of a cloudlet."""
    heard = rest.announced()
    return [
        f"{server} has no session with {cloudlet.name} or not all its routes"
        for server in topology.route_servers
        for cloudlet in topology.cloudlets
        if heard.get((server, cloudlet.name), 0) < len(cloudlet.endpoints)
    ]
