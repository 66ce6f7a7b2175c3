"""The translation: what each object becomes, and every wrong or missing value with its object and the remedy."""

from typing import Any

import pytest

from controller.core.inventory import parse as parse_inventory
from controller.core.netbox import Imported, NotImportable, default, parse, translate
from tests.unit.netbox.conftest import snapshot
from tests.unit.netbox.objects import (
    TOWNS,
    WEB,
    Json,
    Objects,
    address,
    device,
    interface,
    made,
    nested,
    prefix,
    primary,
    site,
    vlan,
    vm,
    vm_interface,
)

HEAD = "apiVersion: weft/netbox/v1\n"


def imported(objects: Objects, mapping: str = "") -> Imported:
    return translate(snapshot(objects), parse(HEAD + mapping, "m.yaml") if mapping else default())


def fields(objects: Objects, section: str, name: str, mapping: str = "") -> Json:
    text = imported(objects, mapping).text
    return dict(parse_inventory(text, "i.yaml").objects[section][name])


def findings(objects: Objects, mapping: str = "") -> list[str]:
    with pytest.raises(NotImportable) as raised:
        imported(objects, mapping)
    return [str(one).removeprefix(WEB) for one in raised.value.findings]


def test_two_towns(objects: Objects) -> None:
    made = imported(objects)
    assert made.text == TOWNS
    assert made.objects == {"cloudlets": 2, "endpoints": 2, "devices": 2, "vms": 1}
    for some in objects.values():
        some.reverse()
    assert imported(objects).text == TOWNS, "the order of NetBox's answers changes nothing"


# -- sites ------------------------------------------------------------------------------------------------------------


def test_custom_fields_of_a_site(objects: Objects) -> None:
    custom = {"weft_name": "asti", "weft_pe": "evpn", "weft_vtep": primary("198.51.100.9/24"), "weft_unmanaged": True}
    custom |= {"weft_asn": {"id": 1, "asn": 64900, "display": "AS64900"}, "weft_ttl_security": "3"}
    objects["dcim/sites"].append(site(4, "x", custom_fields=custom, facility="DC 1", tags=["weft", "gold"]))
    labels = (
        "cloudlets: {labels: {dc: facility, gold: tag.gold, tin: tag.tin, pe: cf.weft_pe, own: cf.weft_unmanaged}}\n"
    )
    found = fields(objects, "cloudlets", "asti", labels)
    assert (found["pe"], found["vtep"], found["unmanaged"], found["asn"]) == ("evpn", "198.51.100.9", True, 64900)
    assert found["ttl_security"] == 3 and found["labels"] == {"dc": "DC 1", "gold": "true", "pe": "evpn", "own": "true"}


def test_the_mapping_gives_values_that_sites_lack(objects: Objects) -> None:
    for one in objects["dcim/sites"]:
        one["custom_fields"].pop("weft_pe")
    found = findings(objects)
    assert len(found) == 2 and all("it has no kind of PE; make a custom field weft_pe for its kind" in f for f in found)
    assert fields(objects, "cloudlets", "turin", "cloudlets: {defaults: {pe: evpn}}\n")["pe"] == "evpn"


def test_degrees_may_be_text(objects: Objects) -> None:
    objects["dcim/sites"][0] |= {"latitude": "45.070000", "longitude": "7.690000"}
    assert imported(objects).text == TOWNS


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"latitude": None},
            "/dcim/sites/1/: site Turin: it has a longitude and no latitude; a place has both: fill in the other",
        ),
        (
            {"latitude": 91},
            "site Turin: cloudlets.turin.latitude must be at least -90 and at most 90, not 91.0; correct its latitude",
        ),
        ({"slug": "Ü"}, "site Turin: 'Ü' cannot be its name in Weft; make a custom field weft_name for its kind"),
        ({"slug": "milan-2"}, "cloudlet milan-2 is site Turin (https://netbox.test/dcim/sites/1/) already"),
        (
            {"custom_fields": {"weft_pe": "mpls"}},
            "must be vpls or evpn or vpnv4 or vpnv6, not 'mpls': did you mean 'vpls'? correct its",
        ),
        ({"custom_fields": {"weft_pe": "vpls", "weft_name": "Turin"}}, "'Turin' cannot be its name in Weft; fill its"),
        (
            {"custom_fields": {"weft_pe": "vpls", "weft_vtep": "198.51.100"}},
            "site Turin: '198.51.100' is not an IPv4 address, such as 192.0.2.1; correct its custom field weft_vtep",
        ),
        (
            {"custom_fields": {"weft_pe": "vpls", "weft_vtep": "198.51.100.2"}},
            "site Turin: 198.51.100.2 is the VTEP of milan-2; correct its custom field weft_vtep",
        ),
        ({"custom_fields": {"weft_pe": "vpls", "weft_asn": "many"}}, "correct its custom field weft_asn"),
        ({"region": {"id": 1, "slug": "n" * 300}}, "correct the property that the label stands for"),
    ],
)
def test_a_wrong_site(objects: Objects, change: Json, words: str) -> None:
    objects["dcim/sites"][0] |= change
    assert any(words in found for found in findings(objects)), findings(objects)


def test_a_vtep_is_needed(objects: Objects) -> None:
    pe = objects["dcim/devices"][0]
    pe["primary_ip4"] = None
    [found] = findings(objects)
    assert found.startswith(
        "/dcim/devices/1/: device pe1: it has no primary IPv4 address, which would be the VTEP of turin"
    )
    objects["dcim/devices"].append(pe | {"id": 8, "name": "pe2", "display": "pe2"})
    [found] = findings(objects)
    assert "site Turin: it has 2 devices of role weft-pe, and a cloudlet has one PE: pe1 (" in found
    objects["dcim/devices"] = [one for one in objects["dcim/devices"] if one["name"] == "till"]
    [found] = findings(objects)
    assert "it has no VTEP: no custom field weft_vtep, and no device of role weft-pe; make a custom field" in found
    objects["dcim/devices"].append(pe | {"status": {"value": "planned"}, "primary_ip4": primary("192.0.2.1/32")})
    assert "no device of role weft-pe" in findings(objects)[0], "a planned PE is none yet"


def test_without_sites_there_is_nothing(objects: Objects) -> None:
    assert findings({}) == [
        ": NetBox as a whole: it shows no site with tag weft and status active; tag your sites, select others by a "
        "mapping, or let the token's user view sites"
    ]


# -- prefixes ---------------------------------------------------------------------------------------------------------


def test_custom_fields_of_a_prefix(objects: Objects) -> None:
    custom: Json = {"weft_name": "lab", "weft_ports": [{"id": 1, "name": "eth7"}], "weft_lease_seconds": 600}
    custom |= {"weft_max_routes": 50, "weft_tenant": "beta"}
    objects["ipam/prefixes"][0]["custom_fields"] = custom
    objects["ipam/prefixes"][1]["custom_fields"] = {"weft_name": "lab"}
    found = fields(objects, "endpoints", "lab", "vms: {tags: []}\n")
    assert (found["ports"], found["tenant"], found["prefix6"]) == (("eth7",), "beta", "2001:db8:1::/64")
    assert (found["lease_seconds"], found["max_routes"]) == (600, 50)


def test_a_site_is_found_by_a_location_and_in_older_releases(objects: Objects) -> None:
    turin, one = objects["dcim/sites"][0], objects["ipam/prefixes"][0]
    objects["dcim/locations"] = [made("dcim/locations", 5, name="Hall", site=nested(turin))]
    one |= {"scope_type": "dcim.location", "scope_id": 5, "scope": {"id": 5, "display": "Hall"}}
    assert imported(objects).text == TOWNS
    for key in ("scope_type", "scope_id", "scope"):
        del one[key]
    one["site"] = nested(turin)
    assert imported(objects).text == TOWNS


def test_only_prefixes_of_some_vrfs(objects: Objects) -> None:
    objects["ipam/prefixes"][0]["vrf"] = {"id": 1, "name": "edge", "display": "edge"}
    text = imported(objects, "endpoints: {vrfs: [edge]}\nvms: {defaults: {image: x}}\n").text
    assert "turin-vlan20" in text and "milan-2-lan" not in text and "prefix6" not in text


@pytest.mark.parametrize(
    ("number", "change", "words"),
    [
        (
            0,
            {"scope_type": None, "scope_id": None},
            "prefix 10.1.0.0/24: it has no scope, so its cloudlet is not known; scope it to a site or a location",
        ),
        (0, {"scope_type": "dcim.region"}, "its scope is Turin (dcim.region), so its cloudlet is not known"),
        (0, {"scope_type": "dcim.location", "scope_id": 99}, "so its cloudlet is not known"),
        (
            0,
            {"scope_id": 3, "scope": nested(site(3, "rome"), "display_url")},
            "its site Rome (https://netbox.test/dcim/sites/3/) is not imported; give that site the tag weft and the",
        ),
        (0, {"prefix": "10.1.0.0/30"}, "prefix 10.1.0.0/24: "),
        (0, {"custom_fields": {"weft_vni": 77}}, "turin is a VPLS PE: its VNIs are labels"),
        (0, {"custom_fields": {"weft_ports": "an-interface-of-a-name"}}, "is not an interface name or shell pattern"),
        (
            0,
            {"custom_fields": {"weft_mtu": 60}},
            "must be at least 576 and at most 9216, not 60; correct its custom field weft_mtu",
        ),
        (0, {"tenant": {"id": 1, "slug": "acme--"}}, "correct the slug of its tenant"),
        (0, {"vlan": None}, "prefix 2001:db8:1::/64: no IPv4 prefix of its site and VLAN is imported"),
        (1, {"prefix": "2001:db8::/48"}, "2001:db8::/48 is larger than a /64; correct it"),
        (
            1,
            {"prefix": "10.9.0.0/24"},
            "it would be the second IPv4 prefix of one endpoint, with 10.1.0.0/24 (https://",
        ),
    ],
)
def test_a_wrong_prefix(objects: Objects, number: int, change: Json, words: str) -> None:
    objects["ipam/prefixes"][number] |= change
    assert any(words in found and "/ipam/prefixes/" in found for found in findings(objects)), findings(objects)


def test_a_name_is_not_shared_by_two_sites(objects: Objects) -> None:
    objects["ipam/prefixes"][0]["custom_fields"] = objects["ipam/prefixes"][2]["custom_fields"] = {"weft_name": "lab"}
    assert any(
        "/ipam/prefixes/3/: prefix 10.2.0.0/24: its name lab is that of an endpoint at site Turin" in found
        for found in findings(objects)
    )


def test_a_lan_of_a_site_that_is_wrong_is_not_told_as_well(objects: Objects) -> None:
    objects["dcim/sites"][1]["slug"] = "?"
    [found] = findings(objects)
    assert "site Milan_2" in found


# -- devices ----------------------------------------------------------------------------------------------------------


def test_custom_fields_of_a_device(objects: Objects) -> None:
    custom = {"weft_client_id": "01:02:00:5E:00:00:07", "weft_vm_mac": "02:00:5e:00:00:08", "weft_name": "cash-1"}
    objects["dcim/devices"][1]["custom_fields"] = custom
    objects["virtualization/virtual-machines"] = []
    found = fields(objects, "devices", "cash-1")
    assert found["client_id"] == "0102005e000007" and found["mac"] is None
    assert found["vm"] == {"mac": "02:00:5e:00:00:08", "client_id": None}


def test_the_tagged_interface_is_the_one(objects: Objects) -> None:
    till = objects["dcim/devices"][1]
    objects["dcim/interfaces"].append(interface(6, "lan1", till, mac_address="02:00:5E:00:00:06"))
    [found] = findings(objects)
    assert (
        "/dcim/devices/2/: device till: 2 of its interfaces have a MAC address: lan0, lan1; tag the one that DHCP"
        in found
    )
    objects["dcim/interfaces"][-1]["tags"] = [{"slug": "weft"}]
    assert fields(objects, "devices", "till")["mac"] == "02:00:5e:00:00:06"


def test_an_interface_without_a_primary_mac_has_its_only_one(objects: Objects) -> None:
    objects["dcim/interfaces"][3] |= {"mac_address": None, "mac_addresses": [{"mac_address": "02:00:5E:00:00:01"}]}
    assert imported(objects).text == TOWNS


def test_an_address_is_known_by_its_interface(objects: Objects) -> None:
    objects["ipam/ip-addresses"].append(
        address(2, "10.1.0.7/24", dns_name="bell", assigned_object_type="dcim.interface", assigned_object_id=5)
    )
    objects["dcim/interfaces"][4]["mgmt_only"] = False
    objects["dcim/interfaces"][3]["tags"] = [{"slug": "weft"}]
    assert fields(objects, "devices", "bell")["mac"] == "02:00:5e:00:00:99"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": None}, "nothing cannot be its name in Weft"),
        (
            {"custom_fields": {"weft_mac": "02:00"}},
            "'02:00' is not a MAC address, such as 02:00:5e:00:00:01; correct its",
        ),
        ({"custom_fields": {"weft_mac": "0200.5e00.0002"}}, "is the MAC of lamp; correct its custom field weft_mac"),
        ({"custom_fields": {"weft_client_id": "xyz"}}, "is not a client id"),
    ],
)
def test_a_wrong_device(objects: Objects, change: Json, words: str) -> None:
    objects["dcim/devices"][1] |= change
    assert any(words in found and "/dcim/devices/2/" in found for found in findings(objects)), findings(objects)


def test_a_device_without_a_mac(objects: Objects) -> None:
    objects["dcim/interfaces"] = objects["dcim/interfaces"][:3]
    objects["ipam/ip-addresses"][0] |= {"custom_fields": {}, "dns_name": ""}
    assert [found.partition("; ")[0] for found in findings(objects)] == [
        "/dcim/devices/2/: device till: neither a MAC address nor a client id tells how DHCP knows it",
        "/ipam/ip-addresses/1/: IP address 10.2.0.9/24: nothing cannot be its name in Weft",
    ]


# -- virtual machines -------------------------------------------------------------------------------------------------


def test_all_of_a_virtual_machine(objects: Objects) -> None:
    till, web = objects["dcim/devices"][1], objects["virtualization/virtual-machines"][0]
    custom: Json = {"weft_device": nested(till), "weft_endpoint": nested(objects["ipam/prefixes"][2])}
    custom |= {"weft_image": "debian", "weft_disk": "base", "weft_check": "tcp:80", "weft_cpu": "host"}
    web |= {"custom_fields": custom, "disk": 2048, "vcpus": None}
    objects["virtualization/interfaces"] = [
        vm_interface(number, f"eth{number}", web, mac_address=f"02:00:5E:00:01:0{number}") for number in (1, 2)
    ]
    found = fields(objects, "vms", "web")
    assert (found["device"], found["endpoint"], found["vcpus"]) == ("till", "milan-2-lan", 1)
    assert found["disk"] == {"base": "base", "bytes": 2 << 30} and (found["check"], found["cpu"]) == ("tcp:80", "host")
    assert found["macs"] == ("02:00:5e:00:01:01", "02:00:5e:00:01:02")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"custom_fields": {"weft_image": "x"}},
            "no device is given that it works for; make a custom field weft_device",
        ),
        ({"custom_fields": {"weft_device": "till"}}, "it has no boot image; make a custom field weft_image"),
        (
            {"custom_fields": {"weft_device": "tilt", "weft_image": "x"}},
            "there is no device tilt among the imported ones; select that device too, or correct the custom field",
        ),
        (
            {"custom_fields": {"weft_device": {"id": 77, "url": f"{WEB}/api/dcim/devices/77/", "name": "d"}}},
            "there is no device d among the imported ones",
        ),
        ({"site": None}, "it has no site, so its own is not known; make a custom field weft_endpoint for its kind"),
        ({"site": {"id": 3}}, "its site is not imported, so its own is not known"),
        ({"memory": None}, "it has no memory; fill in its memory (MB)"),
        ({"vcpus": 1.5}, "it has 1.5 vCPUs, and a VM of Weft's has whole ones; round its vCPUs"),
        ({"vcpus": 999.0}, "must be at least 1 and at most 255, not 999; correct its vCPUs"),
        (
            {"custom_fields": {"weft_device": "till", "weft_image": "x", "weft_disk": "base"}},
            "it has an image for its disk, and no disk",
        ),
        ({"custom_fields": {"weft_device": "till", "weft_image": "x", "weft_check": "ping"}}, "weft_check"),
    ],
)
def test_a_wrong_virtual_machine(objects: Objects, change: Json, words: str) -> None:
    objects["virtualization/virtual-machines"][0] |= change
    found = findings(objects)
    assert any(words in one and "/virtualization/virtual-machines/1/" in one for one in found), found


def test_one_mac_of_two_and_two_endpoints_of_a_site(objects: Objects) -> None:
    web, turin = objects["virtualization/virtual-machines"][0], objects["dcim/sites"][0]
    objects["virtualization/interfaces"] = [vm_interface(1, "eth0", web, mac_address="02:00:5E:00:01:01")]
    objects["ipam/prefixes"].append(prefix(9, "10.9.0.0/24", turin, vlan=vlan(8, 30)))
    assert [found.partition(": ")[2] for found in findings(objects)] == [
        "virtual machine web: 1 of its interfaces have a MAC address, and a VM has two vNICs; give MAC addresses to "
        "exactly two of its interfaces, or to none",
        "virtual machine web: its site has 2 endpoints, so its own is not known; make a custom field weft_endpoint for "
        "its kind, and fill it",
    ]


# -- all --------------------------------------------------------------------------------------------------------------


def test_every_error_is_told_at_once(objects: Objects) -> None:
    objects["dcim/sites"][0]["latitude"] = None
    objects["dcim/sites"][1]["custom_fields"]["weft_vtep"] = "nowhere"
    objects["ipam/prefixes"][2]["custom_fields"]["weft_mtu"] = 1
    objects["dcim/devices"].append(device(7, "fax", objects["dcim/sites"][0], "cash"))
    objects["virtualization/virtual-machines"].append(vm(2, "db", None))
    assert [found.split(":")[0] for found in findings(objects)] == [
        "/dcim/devices/7/",
        "/dcim/sites/1/",
        "/dcim/sites/2/",
        "/ipam/prefixes/3/",
        "/virtualization/virtual-machines/2/",
    ]
    objects["dcim/devices"].append(
        device(8, "pen", objects["dcim/sites"][0], "cash", custom_fields={"weft_mac": "0200.5e00.0002"})
    )
    assert any("is the MAC of lamp" in found for found in findings(objects)), "also beside objects with other errors"


def test_text_that_no_document_can_have(objects: Objects) -> None:
    objects["dcim/sites"][0]["region"] = {"id": 1, "slug": "a\0b"}
    [found] = findings(objects)
    assert "cloudlets.turin.labels.region has the character" in found


def test_an_answer_without_an_id_is_not_taken() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        snapshot({"dcim/devices": [{"name": "x", "tags": []}]})


def test_no_object_is_lost_to_its_kind(objects: Objects) -> None:
    """A PE is no device, though it has the tag."""
    objects["dcim/devices"][0]["tags"] = [{"slug": "weft"}]
    assert imported(objects).text == TOWNS
    unread: Any = device(9, "other", objects["dcim/sites"][0], "cash", status="planned")
    objects["dcim/devices"].append(unread)
    assert imported(objects).text == TOWNS
