"""Domain names in the wire format of DNS, which options of DHCP and router advertisements use too."""

from collections.abc import Iterable


def encode(names: Iterable[str]) -> bytes:
    """Return the names one after the other, without compression: each as labels with their lengths in front and an
    empty label at its end (RFC 1035, section 3.1). Raises ValueError for a label that is empty or has more than 63
    octets."""
    return b"".join(_encode(name) for name in names)


def _encode(name: str) -> bytes:
    labels = [label.encode("ascii") for label in name.removesuffix(".").split(".")]
    if not all(0 < len(label) < 64 for label in labels):
        raise ValueError(f"{name!r} is not a domain name")
    return b"".join(bytes((len(label),)) + label for label in labels) + b"\0"
