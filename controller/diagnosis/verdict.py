"""The doctor's verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controller.core.doctor import Cloudlet, Difference, RouteServer
from controller.core.doctor.kinds import DifferenceKind
from controller.wire.rulesets import RuleSet


@dataclass(frozen=True)
class Compared:
    """The amount of compared data. `reports` counts the cloudlets whose kernels were compared."""

    generation: int
    route_servers: int
    adj_in: int
    adj_out: int
    quarantine: int
    cloudlets: int
    reports: int
    endpoints: int

    @classmethod
    def of(cls, rules: RuleSet, servers: Sequence[RouteServer], cloudlets: Sequence[Cloudlet]) -> "Compared":
        """Return the amounts of what was compared with the rules."""
        return cls(
            generation=rules.generation,
            route_servers=len(servers),
            adj_in=sum(len(server.adj_in) for server in servers),
            adj_out=sum(len(server.adj_out) for server in servers),
            quarantine=sum(len(server.quarantine) for server in servers),
            cloudlets=len(cloudlets),
            reports=sum(cloudlet.report is not None for cloudlet in cloudlets),
            endpoints=len(rules.endpoints),
        )


@dataclass(frozen=True)
class Verdict:
    """The result of a comparison by `replica`; `leader` is the replica that led. `differences` has the first of each
    kind, and `counts` the numbers of all by kind. `unconsented` are endpoints held back until their tenants consent,
    `unmanaged` cloudlets whose PEs have no agent, and `uncompared` sentences about tables that are too large: all three
    are no differences."""

    replica: str
    leader: str | None
    checked: Compared
    differences: Sequence[Difference]
    counts: Mapping[DifferenceKind, int]
    unconsented: Sequence[str]
    unmanaged: Sequence[str]
    uncompared: Sequence[str]

    @property
    def ok(self) -> bool:
        """Whether all agree."""
        return not self.counts
