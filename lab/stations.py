"""Gets addresses for the devices and VMs of a region, and adds and starts the VMs that boot."""

import functools
from pathlib import Path

from lab import daemons
from lab.lock import Progress
from lab.rest import Rest
from lab.state import LabState
from lab.topology import Topology
from lab.underlay import station_node
from lab.watch import Watch


def lease(topology: Topology, watch: Watch, state: LabState, progress: Progress) -> None:
    """Start the DHCP clients of every device and VM, and record their addresses (without length) by name."""
    progress(f"DHCP for {len(topology.stations)} devices and VMs")
    files, files6 = {}, {}
    for cloudlet, station in topology.stations:
        node = station_node(cloudlet.name, station.name)
        files[station.name] = daemons.lease_file(node)
        watch.start({f"{station.name}-dhcp": daemons.dhcp_client(node, station.client_id)})
        if cloudlet.endpoint(station.endpoint).prefix6 is not None:
            files6[station.name] = daemons.lease_file(node, 6)
            watch.start({f"{station.name}-dhcp6": daemons.dhcp6_client(node)})
    watch.wait(lambda: not _unleased(files), 60, lambda: f"no DHCP lease for {_unleased(files)}")
    watch.wait(lambda: not _unleased(files6), 60, lambda: f"no DHCPv6 lease for {_unleased(files6)}")
    state.leases, state.leases6 = _leased(files), _leased(files6)
    with Rest() as rest:  # agents answer by themselves, and report to the controller right after
        missing = functools.partial(_untold, rest, set(state.leases.values()))
        watch.wait(lambda: not missing(), 60, lambda: f"the controller has not heard of {missing()}")
    state.save()


def boot(topology: Topology, watch: Watch, progress: Progress, seconds: float) -> dict[str, str]:
    """Add and start the VMs that really boot; return their addresses (without length) by name. The controller has to
    know their devices already."""
    machines = [machine for _, machine in topology.machines]
    if not machines:
        return {}
    progress(f"booting {', '.join(machine.name for machine in machines)}")
    with Rest() as rest:
        for machine in machines:
            rest.add_machine(machine)
        found = functools.partial(_serving, rest, [machine.name for machine in machines])
        watch.wait(lambda: None not in found().values(), seconds, lambda: f"VMs without an address: {found()}")
        return {name: str(address) for name, address in found().items()}


def _serving(rest: Rest, names: list[str]) -> dict[str, str | None]:
    """Return the address of each VM, or None as long as it does not run."""
    vms = {name: rest.get(f"/vms/{name}") for name in names}
    return {name: vm["address"] if vm["condition"] == "running" else None for name, vm in vms.items()}


def _leased(files: dict[str, Path]) -> dict[str, str]:
    return {name: file.read_text().split("/")[0] for name, file in files.items()}


def _untold(rest: Rest, addresses: set[str]) -> str:
    return ", ".join(sorted(addresses - {lease["address"] for lease in rest.items("/leases")}))


def _unleased(files: dict[str, Path]) -> str:
    return ", ".join(name for name, file in files.items() if not file.exists())
