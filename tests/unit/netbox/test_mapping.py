"""The mapping: its form, its defaults, and the reference of both."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from controller.core.netbox import MappingInvalid, default, parse

POLICIES = Path(__file__).parents[3] / "policies"
HEAD = "apiVersion: weft/netbox/v1\n"


def errors(text: str) -> list[str]:
    with pytest.raises(MappingInvalid) as raised:
        parse(text, "m.yaml")
    return [str(error) for error in raised.value.errors]


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(json.loads((POLICIES / "netbox.schema.json").read_text()))


def test_the_example_is_the_default_written_out() -> None:
    assert parse((POLICIES / "netbox.yaml").read_text(), "netbox.yaml") == parse(HEAD, "m.yaml") == default()
    assert default().vms.custom_field("image") == "weft_image"
    assert default().cloudlets.labels == {"region": "region", "group": "group"}


def test_a_mapping_names_only_what_differs() -> None:
    made = parse(f"{HEAD}cloudlets: {{tags: [edge], fields: {{vtep: loopback}}, defaults: {{pe: evpn}}}}\n", "m.yaml")
    assert (made.cloudlets.tags, made.cloudlets.statuses) == (("edge",), ("active",))
    assert (made.cloudlets.custom_field("vtep"), made.cloudlets.custom_field("asn")) == ("loopback", "weft_asn")
    assert made.cloudlets.defaults == {"pe": "evpn"} and made.endpoints == default().endpoints


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("cloudlets: {tag: [weft]}", "2:13: unknown key 'tag': did you mean 'tags'?"),
        ("cloudlets: {tags: ['a b']}", "2:20: 'a b' is not a slug of NetBox"),
        ("endpoints: {fields: {mtu: 'a-b'}}", "2:27: 'a-b' is not a custom field's name"),
        ("endpoints: {fields: {prefix: x}}", "2:22: unknown key 'prefix'"),
        ("cloudlets: {labels: {city: town}}", "must be region, group, tenant, facility, slug, name, tag.SLUG or cf."),
        ("cloudlets: {defaults: {pe: mpls}}", "must be vpls or evpn or vpnv4 or vpnv6"),
        ("endpoints: {defaults: {mtu: 60}}", "must be at least 576"),
        ("sites: {}", "unknown key 'sites'"),
    ],
)
def test_each_wrong_key_and_value_has_its_place(line: str, words: str) -> None:
    [error] = errors(f"{HEAD}{line}\n")
    assert words in error and error.startswith("m.yaml:2:"), error


def test_other_documents_are_known() -> None:
    assert errors("cloudlets: {}\n") == ["m.yaml:1:1: a mapping of a NetBox lacks the key 'apiVersion'"]
    [error] = errors("apiVersion: weft/inventory/v1\ncloudlets: {}\n")
    assert "this is an inventory, not a mapping of a NetBox: `weft inventory` takes it" in error
