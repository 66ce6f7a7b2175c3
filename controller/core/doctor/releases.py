"""The comparison of the releases that the parts of a region run, and of the desired states with what their agents
understand."""

from collections.abc import Iterator, Mapping, Sequence

from controller.core.doctor.difference import Difference, listed
from controller.core.doctor.kernels import Cloudlet
from controller.core.doctor.kinds import DifferenceKind
from controller.core.doctor.ribs import RouteServer
from controller.core.releases import Release, release
from controller.wire.optional_fields import used

DESIRED = "desired"
"""The name of the desired state in what an agent reports to understand."""


def compare_releases(
    replicas: Mapping[str, str], servers: Sequence[RouteServer], cloudlets: Sequence[Cloudlet]
) -> Iterator[Difference]:
    """Yield every replica, route server and agent whose release does not work together with the others'. `replicas` are
    the releases of those that are alive, by name. A part whose release is not known is skipped, and so is an agent that
    is not connected: it may have been upgraded."""
    controllers = {name: found for name, text in replicas.items() if (found := release(text)) is not None}
    newest = max(controllers.values(), key=lambda one: one.version, default=None)
    for name, found in sorted(controllers.items()):
        if newest is not None and found.version != newest.version:
            text = f"Replica {name} runs {found.text}, another one {newest.text}: all replicas have to run one release."
            yield _skew(f"replica {name}", newest.text, found, text)
    yield from _route_servers(newest, servers)
    for cloudlet in sorted(cloudlets, key=lambda one: one.desired.cloudlet):
        if cloudlet.report is not None and cloudlet.connected:
            yield from _agent(newest, cloudlet)


def _route_servers(controller: Release | None, servers: Sequence[RouteServer]) -> Iterator[Difference]:
    releases = {server.name: found for server in servers if (found := release(server.version)) is not None}
    newest = max(releases.values(), key=lambda one: one.version, default=None)
    for name, found in sorted(releases.items()):
        where = f"route server {name}"
        if newest is not None and found.apart(newest):
            text = f"{name} runs {found.text}, its twin {newest.text}: a release lies between them."
            yield _skew(where, newest.text, found, text)
        elif controller is not None and found.older(controller):
            text = f"{name} runs {found.text}, the controller {controller.text}: a route server must not be older."
            yield _skew(where, f"{controller.text} or newer", found, text)
        elif controller is not None and found.apart(controller):
            text = f"{name} runs {found.text}, the controller {controller.text}: a release lies between them."
            yield _skew(where, controller.text, found, text)


def _agent(controller: Release | None, cloudlet: Cloudlet) -> Iterator[Difference]:
    assert cloudlet.report is not None
    name, said = cloudlet.desired.cloudlet, cloudlet.report.agent_version
    where, found = f"agent of {name}", release(said)
    if found is not None and controller is not None:
        if controller.older(found):
            text = f"The agent of {name} runs {said}, the controller {controller.text}: an agent must not be newer."
            yield _skew(where, f"{controller.text} or older", found, text)
        elif found.apart(controller):
            text = f"The agent of {name} runs {said}, the controller {controller.text}: a release lies between them."
            yield _skew(where, controller.text, found, text)
    understood = cloudlet.report.understands
    if understood and (lacking := used(cloudlet.desired, DESIRED) - set(understood)):
        text = f"The agent of {name} runs {said}, which refuses a desired state with {listed(lacking)}."
        yield Difference(DifferenceKind.AGENT_TOO_OLD, where, "desired state", listed(lacking), "unknown to it", text)


def _skew(where: str, expected: str, found: Release, text: str) -> Difference:
    return Difference(DifferenceKind.RELEASE_SKEW, where, "release", expected, found.text, text)
