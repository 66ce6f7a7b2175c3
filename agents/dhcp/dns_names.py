"""Domain names as DNS and the options of DHCP and router advertisements have them on the wire."""

from collections.abc import Iterable


def encode(names: Iterable[str]) -> bytes:
    """The names one after the other, each as labels with their lengths in front and an empty one at its end (RFC 1035,
    section 3.1), without compression. Raises ValueError for a label that is empty or has more than 63 octets."""
    return b"".join(_encode(name) for name in names)


def _encode(name: str) -> bytes:
    labels = [label.encode("ascii") for label in name.removesuffix(".").split(".")]
    if not all(0 < len(label) < 64 for label in labels):
        raise ValueError(f"{name!r} is no domain name")
    return b"".join(bytes((len(label),)) + label for label in labels) + b"\0"
