"""VMs whose CPU is settled, and cloudlets within their reach that cannot give it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from controller.core.cpu_baseline import kind
from controller.core.cpu_choice import refusal, some
from controller.core.doctor.difference import Difference
from controller.core.doctor.kinds import DifferenceKind
from controller.wire.platforms import Platform

MOST = 100
"""The most groups of VMs that are named."""


@dataclass(frozen=True)
class Settled:
    """VMs of one driver at one endpoint of the cloudlet, with the same CPU."""

    cloudlet: str
    endpoint: str
    driver: str
    cpu: str
    names: tuple[str, ...]


def compare_cpus(
    vms: Iterable[Settled],
    within_reach: Callable[[str], Collection[str]],
    reports: Mapping[str, Mapping[str, Platform]],
) -> Iterator[Difference]:
    """Yield a difference for each group of VMs whose CPU some cloudlets lack, by what the agents there report of the
    driver (`reports`, by driver and cloudlet). Cloudlets that report no models are left out, as they are not known to
    lack any. Cloudlets of another kind are left out too: no VM moves there, whatever its CPU."""
    groups = sorted(vms, key=lambda group: (group.endpoint, group.driver, group.cpu))
    found = (_difference(one, _lacking(one, within_reach(one.endpoint), reports.get(one.driver, {}))) for one in groups)
    yield from islice((one for one in found if one is not None), MOST)


def _lacking(vms: Settled, reach: Collection[str], reports: Mapping[str, Platform]) -> dict[str, str]:
    """Return the cloudlets that cannot give the CPU, each with the reason."""
    own = reports.get(vms.cloudlet)
    why = {}
    for name in sorted(reports.keys() & set(reach)):
        alike = own is not None and reports[name].models is not None and kind(reports[name]) == kind(own)
        if alike and (said := refusal(vms.cpu, name, reports[name])) is not None:
            why[name] = said
    return why


def _difference(vms: Settled, why: Mapping[str, str]) -> Difference | None:
    if not why:
        return None
    names, others = some(list(vms.names)), [name for name in why if name != vms.cloudlet]
    cannot = ["be started again"] * (vms.cloudlet in why) + [f"move to {some(others)}"] * bool(others)
    text = f"{names} at {vms.endpoint} cannot {' or '.join(cannot)}: {next(iter(why.values()))}."
    return Difference(
        DifferenceKind.VM_CPU, f"VMs at {vms.endpoint}", names, vms.cpu, f"lacking at {some(list(why))}", text
    )
