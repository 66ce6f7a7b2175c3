"""Addresses: real DHCP clients lease them, an even one for a device, the odd one right above for its VM."""

from ipaddress import ip_address

from lab.demo.stage import Stage


def play(stage: Stage) -> None:
    """Lease addresses, and check each against its pair."""
    stage.title("addresses by DHCP, from the plan")
    leased = stage.region.lease(stage.note)
    by_address = {lease["address"]: lease for lease in stage.rest.items("/leases")}
    wrong = []
    for _, station in stage.region.topology.stations:
        address = leased[station.name]
        lease = by_address.get(address)
        kind = "vm" if station.works_for else "md"
        device = station.works_for or station.name
        odd = int(ip_address(address)) % 2 == 1
        if lease is None or lease["kind"] != kind or lease["device"] != device or odd != (kind == "vm"):
            wrong.append(f"{station.name} {address}")
    shown = "  ".join(f"{name} {address}" for name, address in leased.items())
    stage.note(shown)
    stage.verdict.add(
        "devices even, VMs odd above",
        not wrong,
        f"{len(leased) - len(wrong)} of {len(leased)} leases" + (f"; wrong: {', '.join(wrong)}" if wrong else ""),
        leases=leased,
    )
