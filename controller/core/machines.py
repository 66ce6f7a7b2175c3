"""Machines: what a VM is given when nobody says otherwise. Pure."""

from hashlib import sha256

from controller.wire.machines import Nic


def mac(name: str, nic: Nic) -> str:
    """The MAC of a VM's vNIC, made from its name: locally administered (IEEE 802, clause 8.4), and the same wherever
    it is asked for."""
    return ":".join(f"{byte:02x}" for byte in b"\x02" + sha256(f"{nic} {name}".encode()).digest()[:5])
