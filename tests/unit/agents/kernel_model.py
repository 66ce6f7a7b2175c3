"""A naive model of the kernel for tests of plans: operations on dictionaries, which refuse the same operations as the
kernel."""

from dataclasses import replace

from agents.kernel.operations import (
    AddAddress,
    AddBridge,
    AddFlood,
    AddRoute,
    AddRule,
    AddVlan,
    AddVxlan,
    DeleteAddress,
    DeleteFlood,
    DeleteLinks,
    DeleteRoute,
    DeleteRule,
    Enslave,
    Operation,
    Release,
    SetLink,
    SetPort,
    WriteSysctl,
)
from agents.kernel.snapshot import Bridge, Port, Snapshot


def after(snapshot: Snapshot, operations: tuple[Operation, ...]) -> Snapshot:
    for operation in operations:
        snapshot = _after(snapshot, operation)
    return snapshot


def _after(s: Snapshot, operation: Operation) -> Snapshot:
    bridges, vxlans, ports, sysctls = dict(s.bridges), dict(s.vxlans), dict(s.ports), dict(s.sysctls)
    routes, rules = set(s.routes), set(s.rules)
    match operation:
        case AddBridge(name, mac, mtu):
            assert name not in bridges
            bridges[name] = Bridge(name, mac, mtu, up=False)
        case AddVxlan(vxlan):
            assert vxlan.name not in vxlans and vxlan.bridge in bridges
            assert vxlan.vni not in {v.vni for v in vxlans.values()}
            vxlans[vxlan.name] = replace(vxlan, flood=vxlan.flood or frozenset())
        case AddVlan(vlan, bridge):
            assert bridge in bridges and vlan.trunk in ports and vlan.device not in ports
            assert vlan not in {port.vlan for port in ports.values()}
            ports[vlan.device] = Port(vlan.device, bridge, vlan, made=True)
        case SetLink(name, mac, mtu, up) if name in bridges:
            b = bridges[name]
            bridges[name] = replace(b, mac=mac or b.mac, mtu=mtu or b.mtu, up=b.up if up is None else up)
        case SetLink(name, None, mtu, up):
            v = vxlans[name]
            vxlans[name] = replace(v, mtu=mtu or v.mtu, up=v.up if up is None else up)
        case SetPort(name, bridge, isolated, learning):
            assert bridge in bridges
            vxlans[name] = replace(vxlans[name], bridge=bridge, isolated=isolated, learning=learning)
        case Enslave(name, bridge):
            assert bridge in bridges
            ports[name] = replace(ports[name], bridge=bridge)
        case Release(name):
            ports[name] = replace(ports[name], bridge=None)
        case DeleteLinks(names):
            for name in names:
                gone = bridges.pop(name, None) or vxlans.pop(name, None) or ports.pop(name)
                assert not isinstance(gone, Port) or gone.made
                routes = {r for r in routes if r.device != name}
                ports = {n: replace(p, bridge=None) if p.bridge == name else p for n, p in ports.items()}
                vxlans = {n: replace(v, bridge=None) if v.bridge == name else v for n, v in vxlans.items()}
                sysctls = {path: value for path, value in sysctls.items() if f"/{name}/" not in path}
        case AddAddress(device, address):
            bridges[device] = replace(bridges[device], addresses=bridges[device].addresses | {address})
        case DeleteAddress(device, address):
            left = bridges[device].addresses - {address}
            bridges[device] = replace(bridges[device], addresses=left)
            if not any("." in each for each in left):  # fib_disable_ip in net/ipv4/fib_frontend.c
                routes = {r for r in routes if r.device != device or ":" in r.prefix}
        case AddFlood(device, flood):
            vxlans[device] = replace(vxlans[device], flood=(vxlans[device].flood or frozenset()) | {flood})
        case DeleteFlood(device, flood):
            vxlans[device] = replace(vxlans[device], flood=(vxlans[device].flood or frozenset()) - {flood})
        case AddRoute(route, _):
            assert route not in routes and bridges[route.device].up
            routes.add(route)
        case DeleteRoute(route):
            routes.remove(route)
        case AddRule(rule):
            rules.add(rule)
        case DeleteRule(rule):
            rules.remove(rule)
        case WriteSysctl(path, value):
            sysctls[path] = value
        case _:
            raise AssertionError(operation)
    return Snapshot(bridges, vxlans, ports, frozenset(routes), frozenset(rules), sysctls)
