"""The agent's TLS to its controller: the authorities that it trusts, and the certificate that it shows."""

import ssl
from pathlib import Path

from agents.identity.x509 import Unfit


def context(authorities: str, certificate: Path | None, key: Path) -> ssl.SSLContext:
    """Return a context that trusts these authorities (PEM) and no others, and shows the certificate if there is one.
    Raises Unfit."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        made.load_verify_locations(cadata=authorities)
        if certificate is not None:
            made.load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError, ValueError) as error:
        raise Unfit(f"TLS cannot use the files in {key.parent}: {error}") from None
    return made
