"""The settings of a LAN's hosts as DHCPv6 options (RFC 3646, RFC 4075, RFC 5908). Pure."""

import struct
from collections.abc import Iterable
from ipaddress import ip_address

from agents.dhcp import dns_names
from agents.dhcp.v6.message import Message, Option
from controller.wire.host_settings import HostSettings

_SERVER_ADDRESS = 1  # a suboption of NTP_SERVER


def options(message: Message, hosts: HostSettings) -> tuple[tuple[int, bytes], ...]:
    """Return the options that the client's option request names (RFC 8415, section 21.7); all if there is no such
    request."""
    asked = message.option(Option.OPTION_REQUEST)
    wanted = None if asked is None else {code for (code,) in struct.iter_unpack("!H", asked[: len(asked) & ~1])}
    ntp = _servers(hosts.ntp)
    found = [
        (Option.DNS_SERVERS, b"".join(_servers(hosts.dns))),
        (Option.DOMAIN_LIST, dns_names.encode(names(hosts))),
        (Option.SNTP_SERVERS, b"".join(ntp)),
        *((Option.NTP_SERVER, struct.pack("!HH", _SERVER_ADDRESS, len(server)) + server) for server in ntp),
    ]
    return tuple((int(code), value) for code, value in found if value and (wanted is None or code in wanted))


def names(hosts: HostSettings) -> tuple[str, ...]:
    """Return the names to search. IPv6 has no option for the domain alone."""
    return hosts.search or ((hosts.domain,) if hosts.domain else ())


def _servers(servers: Iterable[str]) -> list[bytes]:
    return [address.packed for address in map(ip_address, servers) if address.version == 6]
