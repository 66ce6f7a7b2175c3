"""The octets that encryption adds. Pure.

A LAN's frame goes into VXLAN (RFC 7348), then into ESP's tunnel mode (RFC 4303) with an AEAD (RFC 4106, RFC 7634: both
have the same lengths), and then into UDP (RFC 3948), so that it passes every path that UDP passes.
"""

from controller.wire.desired import Desired

ETHERNET, IPV4, UDP, VXLAN = 14, 20, 8, 8
"""Lengths of headers."""

ESP_HEADER, ESP_IV, ESP_TRAILER, ESP_ICV = 8, 8, 2, 16
"""SPI and sequence number; the AEAD's IV; pad length and next header; the AEAD's integrity check value."""

_ALIGNMENT = 4  # of the encrypted octets, including the trailer (RFC 4303, section 2.4)

_DEVICE = 1400
"""The MTU of charon's own device, where the kernel does not do ESP. The other end may have such a device."""


def protected(path: int) -> int:
    """Return the length of the longest IP packet that ESP carries over a path with this MTU."""
    encrypted = path - IPV4 - UDP - ESP_HEADER - ESP_IV - ESP_ICV
    return encrypted // _ALIGNMENT * _ALIGNMENT - ESP_TRAILER


def on_wire(packet: int) -> int:
    """Return the length of the IP packet in which ESP carries a packet of this length."""
    encrypted = -(-(packet + ESP_TRAILER) // _ALIGNMENT) * _ALIGNMENT
    return IPV4 + UDP + ESP_HEADER + ESP_IV + encrypted + ESP_ICV


def lan(path: int) -> int:
    """Return the length of the longest packet on a LAN whose frames cross that path in one piece."""
    return min(protected(path), _DEVICE) - IPV4 - UDP - VXLAN - ETHERNET


def within(desired: Desired, path: int) -> Desired:
    """Return the desired state with the MTU of each LAN limited to what fits."""
    most = lan(path)
    endpoints = [e if e.mtu <= most else e.model_copy(update={"mtu": most}) for e in desired.endpoints]
    return desired.model_copy(update={"endpoints": endpoints})
