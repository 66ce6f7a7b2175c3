"""The doctor: a pure comparison of the intent with the state of the route servers and the kernels. The caller gathers
the observations first.

    policy ── intent (database) ── rule set of each route server ── Adj-RIB-Out of each ── kernel of each cloudlet
    ── what passes from gateway to gateway

Each difference has a kind, and each kind a remedy (kinds.py).

The model of who may see what is written here a second time, naively and from the pools alone, so that the code that
checks does not repeat an error of the code that acts."""

from collections.abc import Sequence

from controller.core.doctor.causes import Causes
from controller.core.doctor.clones import compare_clones
from controller.core.doctor.cpus import Settled, compare_cpus
from controller.core.doctor.difference import Difference, few_of_each_kind
from controller.core.doctor.inventory import Applied, compare_inventory
from controller.core.doctor.kernels import Cloudlet, compare_kernels
from controller.core.doctor.kinds import REMEDIES, DifferenceKind
from controller.core.doctor.passages import compare_passages
from controller.core.doctor.policy import InForce, compare_policy
from controller.core.doctor.releases import compare_releases
from controller.core.doctor.ribs import Route, RouteServer, compare_ribs
from controller.core.doctor.rule_sets import compare_rule_sets
from controller.core.doctor.session_keys import compare_session_keys
from controller.core.doctor.tunnels import compare_tunnels
from controller.core.doctor.vms import Vm, compare_vms
from controller.core.doctor.webhooks import Receiver, compare_webhooks
from controller.wire.rulesets import RuleSet

__all__ = [
    "REMEDIES",
    "Applied",
    "Causes",
    "Cloudlet",
    "Difference",
    "DifferenceKind",
    "InForce",
    "Receiver",
    "Route",
    "RouteServer",
    "Settled",
    "Vm",
    "compare",
    "compare_clones",
    "compare_cpus",
    "compare_inventory",
    "compare_policy",
    "compare_releases",
    "compare_session_keys",
    "compare_vms",
    "compare_webhooks",
    "few_of_each_kind",
]


def compare(intent: RuleSet, route_servers: Sequence[RouteServer], cloudlets: Sequence[Cloudlet]) -> list[Difference]:
    """Return every difference, in the order in which an engineer would look: route servers, routes, cloudlets.
    `cloudlets` are those that should be working (neither invited nor waiting for approval)."""
    differences: list[Difference] = []
    for server in sorted(route_servers, key=lambda server: server.name):
        differences += compare_rule_sets(intent, server)
        differences += compare_ribs(intent, server)
    differences += compare_kernels(intent, cloudlets)
    differences += compare_tunnels(cloudlets)
    differences += compare_passages(intent, cloudlets)
    return differences
