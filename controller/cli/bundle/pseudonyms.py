"""Pseudonyms for names and addresses: the same for the same, and nobody without the key can tell whose they are."""

import hmac
import ipaddress
import os
import secrets
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from controller.cli.state import state_file

KEY = "gather.key"
GATEWAYS = "02:57"
"""The first octets of gateways' MACs, which stay: they are the same at every cloudlet."""

PRIVATE_ASN = 4_200_000_000
"""The first AS number for private use of four octets (RFC 6996)."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Pseudonyms:
    """The pseudonyms of one key. Addresses keep their common prefixes: two of them share as many leading bits as those
    that they stand for (J. Xu et al., Prefix-preserving IP address anonymization, 2002). So an address stays in its
    LAN."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._bit = lru_cache(maxsize=None)(self._of_bits)

    def name(self, kind: str, name: str) -> str:
        """Return the pseudonym of a name, which says what kind of thing it is."""
        return f"{kind}-{self._digest('name', name).hex()[:8]}"

    def address(self, address: Address) -> Address:
        """Return the pseudonym of an address. Those that mean the same everywhere stay."""
        if address.is_unspecified or address.is_loopback or address.is_multicast:
            return address
        bits = format(int(address), f"0{address.max_prefixlen}b")
        family = f"ip{address.version}"
        turned = "".join(str(int(bit) ^ self._bit(family, bits[:at])) for at, bit in enumerate(bits))
        return type(address)(int(turned, 2))

    def prefix(self, address: Address, length: int) -> str:
        """Return the pseudonym of a prefix, or of an address in one, with the same length."""
        network = ipaddress.ip_network((address, length), strict=False)
        found = self.address(address)
        if network.network_address == address:
            found = ipaddress.ip_network((found, length), strict=False).network_address
        return f"{found}/{length}"

    def mac(self, mac: str) -> str:
        """Return the pseudonym of a MAC, a locally administered one."""
        octets = self._digest("mac", mac)[:5].hex(":")
        return f"{GATEWAYS}:{octets[:11]}" if mac.startswith(GATEWAYS) else f"02:{octets}"

    def asn(self, asn: int) -> int:
        """Return the pseudonym of an AS number."""
        return PRIVATE_ASN + int.from_bytes(self._digest("asn", str(asn))[:4]) % 90_000_000

    def _of_bits(self, family: str, bits: str) -> int:
        return self._digest(family, bits)[0] & 1

    def _digest(self, domain: str, text: str) -> bytes:
        return hmac.digest(self._key, f"{domain} {text}".encode(), "sha256")


def kept_key(path: Path | None = None) -> bytes:
    """Return this user's key, made the first time: so a second bundle has the same pseudonyms. Raises OSError."""
    path = path or state_file(KEY)
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32))
    return bytes.fromhex(path.read_text().strip())
