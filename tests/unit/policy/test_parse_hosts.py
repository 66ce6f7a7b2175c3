"""The settings that a policy gives to hosts, and errors at their places."""

import pytest

from controller.core.policy import parse
from controller.core.policy.sections import addresses
from controller.wire.host_settings import NO_SETTINGS, HostSettings, Route
from tests.unit.policy.texts import errors

HEAD = "apiVersion: weft/v1\nvcps: {}\naddresses:\n"
EVERYWHERE = HEAD + "  hosts: {%s}\n"
HERE = HEAD + "  lans: {c1-lan: {hosts: {%s}}}\n"


def test_a_lan_takes_over_what_it_does_not_say() -> None:
    text = (
        HEAD + "  hosts: {dns: [10.0.0.53], domain: region.example}\n  lans: {c1-lan: {hosts: {domain: cafe.example}}}"
    )
    plan = parse(text, "p.yaml").rules.addresses
    assert plan.told("c1-lan") == HostSettings(dns=("10.0.0.53",), domain="cafe.example")
    assert plan.told("c2-lan") == HostSettings(dns=("10.0.0.53",), domain="region.example")
    assert parse(HEAD + "  lease_seconds: 600", "p.yaml").rules.addresses.told("c1-lan") == NO_SETTINGS


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        (EVERYWHERE % "dns: [10.0.0.300]", "hosts.dns[0]", "10.0.0.300 is not an IP address"),
        (
            EVERYWHERE % "dns: [10.0.0.53, '::1']",
            "hosts.dns[1]",
            "::1 is not an address of a server that hosts can reach",
        ),
        (EVERYWHERE % "ntp: ['fe80::1']", "hosts.ntp[0]", "link-local"),
        (EVERYWHERE % "dns: [ns.example]", "hosts.dns[0]", "is not an IP address, such as 10.1.0.53"),
        (EVERYWHERE % "domain: lab..example", "hosts.domain", "a label is empty"),
        (EVERYWHERE % "search: [example, -a.example]", "hosts.search[1]", "begins or ends with a hyphen"),
        (EVERYWHERE % "domain: Lab.Example", "hosts.domain", "is not a domain name, such as lab.example"),
        (EVERYWHERE % "routes: [{via: 10.1.0.9}]", "hosts.routes[0].to", "lacks the key 'to'"),
        (EVERYWHERE % "routes: [{to: 10.0.0.0/8, via: 10.1.0.9}]", "hosts.routes[0].via", "a router is on one LAN"),
        (HERE % "routes: [{to: 10.0.0.1/8}]", "lans.c1-lan.hosts.routes[0].to", "has host bits set"),
        (HERE % "routes: [{to: '2001:db8::/32', via: 10.1.0.9}]", "lans.c1-lan.hosts.routes[0].via", "RFC 4191"),
        (
            HERE % "routes: [{to: 10.0.0.0/8}, {to: 10.0.0.0/8, via: 10.1.0.9}]",
            "lans.c1-lan.hosts.routes[1].to",
            "already",
        ),
        (EVERYWHERE % f"search: [{', '.join(c * 63 for c in 'abcd')}]", "hosts", "take 269 octets of a DHCP answer"),
        (EVERYWHERE % "dsn: []", "hosts.dsn", "did you mean"),
    ],
)
def test_mistakes_at_their_place(text: str, field: str, words: str) -> None:
    [(_, _, at, message)] = errors(text)
    assert at == f"addresses.{field}"
    assert words in message


def test_a_router_beyond_the_lan_is_a_mistake_once_the_lan_is_known() -> None:
    policy = parse(HERE % "routes: [{to: 10.0.0.0/8, via: 10.2.0.9}]", "p.yaml")
    [error] = addresses.against(policy, {"c1-lan": ("10.1.0.0/24", None)})
    assert (error.field, error.message) == (
        "addresses.lans.c1-lan.hosts.routes[0].via",
        "10.2.0.9 is not in 10.1.0.0/24, the LAN of c1-lan",
    )
    assert Route(to="10.0.0.0/8", via="10.2.0.9") in policy.rules.addresses.told("c1-lan").routes
