"""The nft matches (bridge family) for frames that hide a packet behind another header. Pure.

The other rules find a packet by the EtherType right after the addresses. A receiver may find it elsewhere: Linux reads
a frame with tags of VLAN 0 as one without, and other systems read IP and ARP in 802.2 SNAP (RFC 1042). So these rules
match a frame by the header in front of its packet, whatever is inside. They do not match EtherTypes that carry no other
packet (LLDP, PTP, PROFINET and so on).
"""

_TAGS = (
    0x8100,  # IEEE 802.1Q, a customer's tag
    0x88A8,  # IEEE 802.1ad, a provider's
    0x9100,  # stacked tags before 802.1ad, by three vendors' numbers
    0x9200,
    0x9300,
    0x88E7,  # IEEE 802.1ah, provider backbone
    0x893F,  # IEEE 802.1BR, E-tag
    0xF1C1,  # IEEE 802.1CB, R-tag
    0x892F,  # IEC 62439-3, HSR
    0x8909,  # Cisco MetaData, which carries TrustSec's tag
)

_WRAPPERS = (
    0x8847,  # MPLS (RFC 3032)
    0x8848,
    0x8863,  # PPPoE (RFC 2516): its discovery is a server's as DHCP is, its session carries IP
    0x8864,
    0x880B,  # PPP
    0x6558,  # transparent Ethernet bridging (RFC 1701)
    0x88E5,  # MACsec (IEEE 802.1AE)
    0x8870,  # jumbo frames with LLC
    0x22F3,  # TRILL (RFC 6325)
    0x894F,  # NSH (RFC 8300)
    0x8926,  # VN-Tag
    0x4305,  # B.A.T.M.A.N.
    0xA0ED,  # 6LoWPAN over Ethernet (RFC 7973)
)


def _types(numbers: tuple[int, ...]) -> str:
    return f"ether type {{ {', '.join(f'{number:#06x}' for number in sorted(numbers))} }}"


LENGTH = "ether type 0x0000-0x05ff"
"""Frames of IEEE 802.3 with a length where others have an EtherType: LLC comes next, which holds SNAP or another
header."""

TAGGED: tuple[str, ...] = (_types(_TAGS),)
"""Frames with a tag, or several."""

WRAPPED: tuple[str, ...] = (_types(_WRAPPERS),)
"""Frames of a protocol that carries other packets."""

NO_BPDU: tuple[str, ...] = (f"{LENGTH} ether daddr != 01:80:c2:00:00:00", f"{LENGTH} @ll,112,24 != 0x424203")
"""Frames with a length that are no BPDU (IEEE 802.1D, section 9; to the bridge group address, LLC 42 42 03). Switches
of one LAN need BPDUs to find a loop through its access ports."""
