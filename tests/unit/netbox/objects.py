"""Objects of a NetBox as its REST API describes them: two sites with a PE, a LAN, a device and a virtual machine."""

from typing import Any

WEB = "https://netbox.test"
Json = dict[str, Any]
Objects = dict[str, list[Json]]
"""Objects by the path of their list, such as `dcim/sites`."""


def made(path: str, number: int, **content: Any) -> Json:
    """Return an object, with the URLs that NetBox gives it. `tags` and `status` are given shortly."""
    name = content.get("name") or content.get("prefix") or content.get("address") or f"{path} {number}"
    content["tags"] = [{"id": hash(tag) % 99, "slug": tag, "name": tag} for tag in content.get("tags", ["weft"])]
    if "status" in content:
        content["status"] = {"value": content["status"], "label": content["status"].title()}
    return {
        "id": number,
        "url": f"{WEB}/api/{path}/{number}/",
        "display_url": f"{WEB}/{path}/{number}/",
        "display": name,
        "custom_fields": {},
        **content,
    }


def nested(thing: Json, *keys: str) -> Json:
    """Return an object as another one shows it."""
    return {key: thing[key] for key in ("id", "url", "display", *keys) if key in thing}


def site(number: int, slug: str, **more: Any) -> Json:
    given: Json = {
        "name": slug.title(),
        "slug": slug,
        "status": "active",
        "region": None,
        "group": None,
        "tenant": None,
    }
    given |= {"facility": "", "latitude": None, "longitude": None, "custom_fields": {"weft_pe": "vpls"}}
    return made("dcim/sites", number, **given | more)


def device(number: int, name: str | None, at: Json, role: str, **more: Any) -> Json:
    given: Json = {"name": name, "site": nested(at, "slug"), "status": "active", "primary_ip4": None}
    given |= {"role": {"id": 9, "slug": role, "display": role}}
    return made("dcim/devices", number, **given | more)


def interface(number: int, name: str, of: Json, **more: Any) -> Json:
    given: Json = {"name": name, "device": nested(of, "name"), "enabled": True, "mgmt_only": False, "tags": []}
    given |= {"untagged_vlan": None, "tagged_vlans": [], "mac_address": None, "mac_addresses": []}
    return made("dcim/interfaces", number, **given | more)


def vlan(number: int, vid: int) -> Json:
    return {
        "id": number,
        "url": f"{WEB}/api/ipam/vlans/{number}/",
        "display": f"LAN ({vid})",
        "vid": vid,
        "name": "LAN",
    }


def prefix(number: int, text: str, at: Json | None, **more: Any) -> Json:
    given: Json = {"prefix": text, "status": "active", "vlan": None, "vrf": None, "tenant": None}
    given |= {"scope_type": "dcim.site" if at else None, "scope_id": at["id"] if at else None}
    given |= {"scope": nested(at, "name", "slug") if at else None}
    return made("ipam/prefixes", number, **given | more)


def address(number: int, text: str, **more: Any) -> Json:
    given: Json = {"address": text, "status": "active", "dns_name": "", "assigned_object_type": None}
    given |= {"assigned_object_id": None, "assigned_object": None}
    return made("ipam/ip-addresses", number, **given | more)


def vm(number: int, name: str, at: Json | None, **more: Any) -> Json:
    given: Json = {"name": name, "site": nested(at, "slug") if at else None, "status": "active", "role": None}
    given |= {"vcpus": 2.0, "memory": 512, "disk": None}
    given |= {"custom_fields": {"weft_device": "till", "weft_image": "debian"}}
    return made("virtualization/virtual-machines", number, **given | more)


def vm_interface(number: int, name: str, of: Json, **more: Any) -> Json:
    given: Json = {"name": name, "virtual_machine": nested(of, "name"), "mac_address": None, "tags": []}
    return made("virtualization/interfaces", number, **given | more)


def primary(text: str) -> Json:
    return {"id": 1, "url": f"{WEB}/api/ipam/ip-addresses/1/", "display": text, "address": text}


def towns() -> Objects:
    """Return the objects of two towns."""
    north = {"id": 1, "slug": "north", "display": "North"}
    turin = site(1, "turin", region=north, latitude=45.07, longitude=7.69)
    milan = site(2, "milan_2", custom_fields={"weft_pe": "vpls", "weft_vtep": "198.51.100.2/32"})
    pe = device(1, "pe1", turin, "weft-pe", primary_ip4=primary("198.51.100.1/32"), tags=[])
    till = device(2, "till", turin, "cash")
    lan = vlan(7, 20)
    web = vm(1, "web", turin)
    return {
        "dcim/sites": [turin, milan, site(3, "rome", tags=[])],
        "dcim/devices": [pe, till],
        "dcim/interfaces": [
            interface(1, "eth1", pe, untagged_vlan=lan),
            interface(2, "eth2", pe, untagged_vlan=lan, enabled=False),
            interface(3, "eth0", pe, tagged_vlans=[lan, vlan(8, 30)]),
            interface(4, "lan0", till, mac_address="02:00:5E:00:00:01"),
            interface(5, "mgmt", till, mac_address="02:00:5E:00:00:99", mgmt_only=True),
        ],
        "ipam/prefixes": [
            prefix(1, "10.1.0.0/24", turin, vlan=lan, tenant={"id": 1, "slug": "acme", "display": "Acme"}),
            prefix(2, "2001:db8:1::/64", turin, vlan=lan),
            prefix(3, "10.2.0.0/24", milan, custom_fields={"weft_ports": "md*, vm*", "weft_mtu": 1400}),
        ],
        "ipam/ip-addresses": [
            address(1, "10.2.0.9/24", dns_name="lamp.milan.test", custom_fields={"weft_mac": "0200.5e00.0002"})
        ],
        "virtualization/virtual-machines": [web],
        "virtualization/interfaces": [],
    }


TOWNS = """\
# Made of a NetBox by `weft inventory import netbox`: change NetBox, and import it again.
apiVersion: weft/inventory/v1
cloudlets:
  milan-2:
    pe: vpls
    vtep: 198.51.100.2
  turin:
    pe: vpls
    vtep: 198.51.100.1
    labels:
      region: north
    latitude: 45.07
    longitude: 7.69
endpoints:
  milan-2-lan:
    cloudlet: milan-2
    prefix: 10.2.0.0/24
    ports: ['md*', 'vm*']
    mtu: 1400
  turin-vlan20:
    cloudlet: turin
    prefix: 10.1.0.0/24
    prefix6: '2001:db8:1::/64'
    ports: [eth0.20, eth1]
    tenant: acme
devices:
  lamp:
    mac: '0200.5e00.0002'
  till:
    mac: '02:00:5E:00:00:01'
vms:
  web:
    device: till
    endpoint: turin-vlan20
    image: debian
    memory: 512M
    vcpus: 2
"""
"""The inventory of the two towns."""
