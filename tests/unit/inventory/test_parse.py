"""An inventory is read as it is written, and every error in it is reported at its place."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from controller.core.inventory import InventoryInvalid, named, parse
from controller.core.policy import PolicyInvalid
from controller.core.policy import parse as parse_policy
from controller.core.yaml_document.errors import MAX_ERRORS
from tests.unit.inventory.texts import EXAMPLES, HEAD, POLICIES, REGION, errors, read

CLOUDLET = f"{HEAD}cloudlets:\n  c1: "
ENDPOINT = f"{HEAD}endpoints:\n  c1-lan: "
DEVICE = f"{HEAD}devices:\n  m1: "
VM = f"{HEAD}vms:\n  web: {{device: m1, endpoint: c1-lan, image: debian, memory: 1G, "


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_are_right(path: Path) -> None:
    assert named(parse(path.read_text(), path.name).objects)


def test_there_are_examples_and_the_schema_is_one() -> None:
    assert EXAMPLES
    Draft202012Validator.check_schema(json.loads((POLICIES / "inventory.schema.json").read_text()))


def test_all_fields_are_read() -> None:
    objects = read(REGION).objects
    assert named(objects) == {
        "cloudlets": ["c1", "c2"], "endpoints": ["c1-lan", "c2-lan"], "devices": ["m1"], "vms": ["web"],
    }  # fmt: skip
    assert objects["cloudlets"]["c2"] == {
        "pe": "evpn", "vtep": "192.0.2.2", "unmanaged": False, "asn": None, "ttl_security": None, "approval": False,
        "labels": {"city": "turin"}, "latitude": None, "longitude": None,
    }  # fmt: skip
    assert objects["endpoints"]["c1-lan"]["mtu"] == 1450 and objects["endpoints"]["c1-lan"]["ports"] == ()
    assert objects["devices"]["m1"] == {"mac": "02:00:5e:00:00:01", "client_id": None, "vm": None}
    web = objects["vms"]["web"]
    assert (web["driver"], web["memory"], web["vcpus"], web["cpu"]) == ("qemu", 512 << 20, 1, "policy")
    assert len(set(web["macs"])) == 2 and web["options"] == {}


def test_values_are_read_in_one_form() -> None:
    """The form is that in which the region has them, so that another notation is no difference."""
    text = (
        f"{HEAD}endpoints: {{c1-lan: {{cloudlet: c1, prefix: 10.1.0.0/24, prefix6: 2001:DB8:1:0::/64}}}}\n"
        "devices: {m1: {mac: 0200.5E00.0001, vm: {client_id: 'ff00'}}}\n"
        "vms: {web: {device: m1, endpoint: c1-lan, image: d, memory: 1073741824, disk: {base: d, bytes: 1G},"
        " macs: [02-00-5E-00-00-08, '02:00:5e:00:00:09']}}\n"
    )
    objects = read(text).objects
    assert objects["endpoints"]["c1-lan"]["prefix6"] == "2001:db8:1::/64"
    assert objects["devices"]["m1"]["mac"] == "02:00:5e:00:00:01"
    assert objects["devices"]["m1"]["vm"] == {"mac": None, "client_id": "ff00"}
    web = objects["vms"]["web"]
    assert web["memory"] == web["disk"]["bytes"] == 1 << 30
    assert web["macs"] == ("02:00:5e:00:00:08", "02:00:5e:00:00:09")


@pytest.mark.parametrize(
    ("text", "line", "column", "field", "words"),
    [
        ("", 1, 1, "", "empty: it begins with 'apiVersion: weft/inventory/v1'"),
        ("cloudlets: {}\n", 1, 1, "apiVersion", "an inventory lacks the key 'apiVersion'"),
        ("apiVersion: weft/v2\n", 1, 13, "apiVersion", "must be 'weft/inventory/v1', not 'weft/v2'"),
        ("apiVersion: weft/v1\nvcps: {}\n", 1, 13, "apiVersion", "this is a policy, not an inventory: `weft policy`"),
        (f"{HEAD}cloudlet: {{}}\n", 2, 1, "cloudlet", "unknown key 'cloudlet': did you mean 'cloudlets'?"),
        (f"{HEAD}vcps: {{}}\n", 2, 1, "vcps", "unknown key 'vcps'"),
        (f"{HEAD}cloudlets:\n", 2, 1, "cloudlets", "must be a mapping, not nothing: if it is empty, write {}"),
        (f"{HEAD}vtep: 192.0.2.1\n", 2, 1, "vtep", "it belongs below cloudlets.NAME; is it indented wrongly?"),
        (f"{CLOUDLET}{{pe: vpls}}\n", 3, 3, "cloudlets.c1.vtep", "cloudlets.c1 lacks the key 'vtep'"),
        (f"{CLOUDLET}{{pe: vpsl, vtep: 192.0.2.1}}\n", 3, 12, "cloudlets.c1.pe", "did you mean 'vpls'?"),
        (f"{CLOUDLET}{{pe: vpls, vtep: 192.0.2.1, vetp: 1}}\n", 3, 35, "cloudlets.c1.vetp", "did you mean 'vtep'?"),
        (f"{CLOUDLET}{{pe: vpls, vtep: 192.0.2.256}}\n", 3, 24, "cloudlets.c1.vtep", "is not an IPv4 address"),
        (f"{CLOUDLET}{{pe: vpls, vtep: 224.0.0.1}}\n", 3, 24, "cloudlets.c1.vtep", "not an address that a host can"),
        (f"{CLOUDLET}{{pe: vpnv4, vtep: 192.0.2.1}}\n", 3, 12, "cloudlets.c1.pe", "a vpnv4 PE is unmanaged"),
        (f"{CLOUDLET}{{pe: vpls, vtep: 192.0.2.1, asn: 9}}\n", 3, 40, "cloudlets.c1.asn", "only an unmanaged PE has"),
        (
            f"{CLOUDLET}{{pe: evpn, vtep: 192.0.2.1, unmanaged: true, asn: 23456}}\n", 3, 57, "cloudlets.c1.asn",
            "stands for AS numbers of four octets",
        ),
        (
            f"{CLOUDLET}{{pe: evpn, vtep: 192.0.2.1, unmanaged: true, approval: true}}\n", 3, 62,
            "cloudlets.c1.approval", "no agent that could wait for approval",
        ),
        (
            f"{CLOUDLET}{{pe: evpn, vtep: 192.0.2.1, latitude: 91, longitude: 2}}\n", 3, 45, "cloudlets.c1.latitude",
            "must be at least -90 and at most 90, not 91",
        ),
        (
            f"{CLOUDLET}{{pe: evpn, vtep: 192.0.2.1, latitude: 9}}\n", 3, 45, "cloudlets.c1.latitude",
            "a place has both latitude and longitude",
        ),
        (
            f"{CLOUDLET}{{pe: evpn, vtep: 192.0.2.1, labels: {{floor: 3}}}}\n", 3, 51, "cloudlets.c1.labels.floor",
            "must be text of one line, not 3; write it in quotes: '3'",
        ),
        (
            f"{CLOUDLET}{{pe: evpn, vtep: 192.0.2.1, labels: {{A: x}}}}\n", 3, 44, "cloudlets.c1.labels.A",
            "'A' is not a name",
        ),
        (
            f"{CLOUDLET}{{pe: evpn, vtep: 192.0.2.1, labels: {{{', '.join(f'l{n}: a' for n in range(65))}}}}}\n", 3, 43,
            "cloudlets.c1.labels", "has 65 keys; 64 are allowed",
        ),
        (
            f"{CLOUDLET}{{pe: evpn, vtep: 192.0.2.1}}\n  c2: {{pe: evpn, vtep: 192.0.2.1}}\n", 4, 24,
            "cloudlets.c2.vtep", "192.0.2.1 is the VTEP of c1",
        ),
        (f"{HEAD}cloudlets: {{C1: {{pe: evpn, vtep: 192.0.2.1}}}}\n", 2, 13, "cloudlets.C1", "'C1' is not a name"),
        (f"{ENDPOINT}{{cloudlet: c1, prefix: 10.1.0.1/24}}\n", 3, 34, "endpoints.c1-lan.prefix", "has host bits set"),
        (f"{ENDPOINT}{{cloudlet: c1, prefix: 10.1.0.0}}\n", 3, 34, "endpoints.c1-lan.prefix", "is not an IPv4 prefix"),
        (f"{ENDPOINT}{{cloudlet: c1, prefix: 10.1.0.0/30}}\n", 3, 34, "endpoints.c1-lan.prefix", "too small"),
        (
            f"{ENDPOINT}{{cloudlet: c1, prefix: 10.1.0.0/24, prefix6: 2001:db8::/48}}\n", 3, 56,
            "endpoints.c1-lan.prefix6", "larger than a /64",
        ),
        (
            f"{ENDPOINT}{{cloudlet: c1, prefix: 10.1.0.0/24, prefix6: 2001:db8::/64, mtu: 1200}}\n", 3, 76,
            "endpoints.c1-lan.mtu", "IPv6 needs 1280 bytes",
        ),
        (
            f"{ENDPOINT}{{cloudlet: c1, prefix: 10.1.0.0/24, mtu: 500}}\n", 3, 52, "endpoints.c1-lan.mtu",
            "must be at least 576 and at most 9216, not 500",
        ),
        (
            f"{ENDPOINT}{{cloudlet: c1, prefix: 10.1.0.0/24, ports: md*}}\n", 3, 54, "endpoints.c1-lan.ports",
            "must be a list, not 'md*'; write it in brackets: [md*]",
        ),
        (
            f"{ENDPOINT}{{cloudlet: c1, prefix: 10.1.0.0/24, ports: ['a b']}}\n", 3, 55, "endpoints.c1-lan.ports[0]",
            "'a b' is not an interface name",
        ),
        (
            f"{CLOUDLET}{{pe: vpls, vtep: 192.0.2.1}}\nendpoints:\n"
            "  a: {cloudlet: c1, prefix: 10.1.0.0/24, vni: 7}\n",
            5, 47, "endpoints.a.vni", "c1 is a VPLS PE",
        ),
        (f"{DEVICE}{{}}\n", 3, 3, "devices.m1.mac", "devices.m1 has neither mac nor client_id"),
        (f"{DEVICE}{{mac: 01:00:5e:00:00:01}}\n", 3, 13, "devices.m1.mac", "a group's address"),
        (f"{DEVICE}{{mac: here}}\n", 3, 13, "devices.m1.mac", "'here' is not a MAC address"),
        (f"{DEVICE}{{client_id: 1f2}}\n", 3, 19, "devices.m1.client_id", "'1f2' is not a client id"),
        (f"{DEVICE}{{client_id: 12}}\n", 3, 19, "devices.m1.client_id", "write it in quotes: '12'"),
        (f"{DEVICE}{{mac: '02:00:00:00:00:01', vm: {{}}}}\n", 3, 34, "devices.m1.vm.mac", "has neither mac nor"),
        (
            f"{DEVICE}{{client_id: 'ff', vm: {{client_id: 'ff'}}}}\n", 3, 25, "devices.m1.vm",
            "cannot be known by the same mac or client_id",
        ),
        (
            f"{DEVICE}{{mac: '02:00:00:00:00:01'}}\n  m2: {{client_id: 'ff', vm: {{mac: 02-00-00-00-00-01}}}}\n", 4, 35,
            "devices.m2.vm.mac", "02:00:00:00:00:01 is the MAC of m1",
        ),
        (
            f"{DEVICE}{{client_id: 'ff'}}\n  m2: {{client_id: 'ff'}}\n", 4, 19, "devices.m2.client_id",
            "ff is the client id of m1",
        ),
        (f"{VM}cpus: 1}}\n", 3, 66, "vms.web.cpus", "did you mean 'vcpus'?"),
        (f"{VM}vcpus: 0}}\n", 3, 73, "vms.web.vcpus", "must be at least 1 and at most 255, not 0"),
        (f"{VM}cpu: 'a b'}}\n", 3, 71, "vms.web.cpu", "'a b' is not a CPU"),
        (f"{VM}macs: ['02:00:00:00:00:01']}}\n", 3, 72, "vms.web.macs", "must be the MACs of its two vNICs"),
        (f"{VM}macs: ['02:00:00:00:00:01', x]}}\n", 3, 94, "vms.web.macs[1]", "'x' is not a MAC address"),
        (f"{VM}macs: ['02:00:00:00:00:01', '02:00:00:00:00:01']}}\n", 3, 66, "vms.web.macs", "both vNICs have"),
        (f"{VM}disk: {{base: d}}}}\n", 3, 66, "vms.web.disk.bytes", "vms.web.disk lacks the key 'bytes'"),
        (f"{VM}disk: {{base: d, bytes: 2097153}}}}\n", 3, 89, "vms.web.disk.bytes", "not a whole number of sectors"),
        (f"{VM}options: {{a b: c}}}}\n", 3, 76, "vms.web.options.a b", "'a b' is not an option"),
        (f"{VM}options: {{a: true}}}}\n", 3, 79, "vms.web.options.a", "must be text of one line, not true"),
        (f"{VM}check: tcp:70000}}\n", 3, 73, "vms.web.check", "the highest port is 65535"),
        (f"{VM}check: ping}}\n", 3, 73, "vms.web.check", "'ping' is not a check: tcp:PORT or http:PORT/PATH"),
        (f"{VM}handover: bin/x}}\n", 3, 76, "vms.web.handover", "'bin/x' is not a path"),
        (f"{VM.replace('1G', '1.5')}}}\n", 3, 62, "vms.web.memory", "must be a number of bytes, or a size such"),
        (f"{VM.replace('1G', '1g')}}}\n", 3, 62, "vms.web.memory", "must be a number of bytes, or a size such"),
        (f"{VM.replace('1G', '8M')}}}\n", 3, 62, "vms.web.memory", "8M is not a size from 16M to 32T"),
        (
            f"{VM}}}\n  www: {{device: m1, endpoint: c1-lan, image: debian, memory: 1G}}\n", 4, 17, "vms.www.device",
            "m1 is the device of web",
        ),
    ],
)  # fmt: skip
def test_each_error_has_its_place(text: str, line: int, column: int, field: str, words: str) -> None:
    found = errors(text)
    assert len(found) == 1, found
    assert found[0][:3] == (line, column, field), found
    assert words in found[0][3]


def test_all_errors_are_reported_in_the_order_of_the_file() -> None:
    text = (
        f"{HEAD}cloudlets:\n  c1: {{pe: evpn, vtep: 224.0.0.1, latitude: 3}}\n  c2: {{pe: vpnv6, vtep: 192.0.2.2}}\n"
        "endpoints:\n  c1-lan: {cloudlet: c1, prefix: 10.1.0.1/24}\ndevices: {m1: {mac: x}, m2: {mac: y}}\n"
    )
    assert [field for _, _, field, _ in errors(text)] == [
        "cloudlets.c1.vtep", "cloudlets.c1.latitude", "cloudlets.c2.pe", "endpoints.c1-lan.prefix", "devices.m1.mac",
        "devices.m2.mac",
    ]  # fmt: skip


def test_a_section_is_checked_though_another_has_the_wrong_form() -> None:
    found = errors(f"{HEAD}cloudlets: {{c1: {{pe: evpn}}}}\ndevices: {{m1: {{mac: x}}}}\n")
    assert [field for _, _, field, _ in found] == ["cloudlets.c1.vtep", "devices.m1.mac"]


def test_no_more_errors_are_collected_than_anybody_reads() -> None:
    many = "".join(f"  m{number}: {{mac: x}}\n" for number in range(3 * MAX_ERRORS))
    assert len(errors(f"{HEAD}devices:\n{many}")) == MAX_ERRORS


def test_a_policy_says_that_a_file_is_an_inventory() -> None:
    with pytest.raises(PolicyInvalid) as raised:
        parse_policy(REGION, "p.yaml")
    assert str(raised.value) == "p.yaml:1:13: this is an inventory, not a policy: `weft inventory` takes it"


def test_a_refusal_says_of_which_kind_of_text_it_is() -> None:
    with pytest.raises(InventoryInvalid) as raised:
        read("a: b: c\n")
    assert raised.value.noun == "inventory" and "a second ': ' on one line" in str(raised.value)
