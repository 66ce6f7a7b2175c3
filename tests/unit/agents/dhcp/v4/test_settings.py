"""The settings that hosts get beside their address, as DHCP options."""

import pytest

from agents.dhcp.v4.message import Option
from agents.dhcp.v4.settings import LanSettings, options
from controller.wire.host_settings import HostSettings, Route


def told(**settings: object) -> dict[int, bytes]:
    return options(LanSettings.of("10.1.0.1", "10.1.0.0/24", 1450, HostSettings.model_validate(settings)))


def test_nothing_but_the_lan_where_policy_says_nothing() -> None:
    assert set(told()) == {Option.SUBNET_MASK, Option.ROUTER, Option.BROADCAST_ADDRESS, Option.INTERFACE_MTU}


def test_servers_of_this_family_in_their_order() -> None:
    found = told(dns=("10.0.0.53", "2001:db8::53", "10.0.0.54"), ntp=("2001:db8::123",))
    assert found[Option.DNS_SERVERS] == bytes((10, 0, 0, 53, 10, 0, 0, 54))
    assert Option.NTP_SERVERS not in found


def test_names() -> None:
    found = told(domain="lab.example", search=("lab.example", "example"))
    assert found[Option.DOMAIN_NAME] == b"lab.example"
    assert found[Option.DOMAIN_SEARCH] == b"\x03lab\x07example\0\x07example\0"


@pytest.mark.parametrize(
    ("routes", "encoded"),
    [
        # RFC 3442: the significant octets of the prefix alone, and the default route, as option 3 is not looked at.
        ([Route(to="10.17.0.0/16", via="10.1.0.9")], "100a110a010009" + "000a010001"),
        ([Route(to="10.229.0.128/25")], "190ae500800a010001" + "000a010001"),
        ([Route(to="0.0.0.0/0", via="10.1.0.7")], "000a010007"),
        ([Route(to="10.0.0.0/8"), Route(to="2001:db8:7::/48")], "080a0a010001" + "000a010001"),
    ],
)
def test_routes(routes: list[Route], encoded: str) -> None:
    assert told(routes=routes)[Option.CLASSLESS_ROUTES].hex() == encoded


def test_routes_of_the_other_family_alone_leave_the_default_route_where_it_is() -> None:
    assert Option.CLASSLESS_ROUTES not in told(routes=[Route(to="2001:db8:7::/48")])
