"""Machines: the defaults of a VM. Pure."""

from hashlib import sha256

from controller.wire.machines import Nic


def mac(name: str, nic: Nic) -> str:
    """Return the MAC of a VM's vNIC, derived from its name: locally administered (IEEE 802, clause 8.4), and the same
    at each call."""
    return ":".join(f"{byte:02x}" for byte in b"\x02" + sha256(f"{nic} {name}".encode()).digest()[:5])
