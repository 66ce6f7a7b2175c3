"""How a command reaches the controller: on a unix socket, over TLS, or as httpx does by itself. With `client.py`,
`retries.py` and `grants.py` the only files that import httpx."""

import os
import ssl
from urllib.parse import urlsplit

import httpx

from controller.cli.failures import WrongUsage

ROOT = "WEFT_ROOT_FILE"
"""The region's root (`weft certificate authority`): an https:// URL is then its controller's, and nobody else's."""


def transport(url: str) -> httpx.BaseTransport | None:
    """None: as httpx does by itself. Raises WrongUsage if the root cannot be used."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return httpx.HTTPTransport(uds=parts.path, verify=False)  # no TLS there, and no 60 ms for authorities
    if parts.scheme == "https" and (file := os.environ.get(ROOT)):
        return _Controller(verify=_trusting(file), trust_env=False)
    return None


def believes(url: str) -> bool:
    """Whether httpx's own environment counts there: proxies, and whom else to trust."""
    return urlsplit(url).scheme == "https" and not os.environ.get(ROOT)


class _Controller(httpx.HTTPTransport):
    """The certificate is the controller's, whatever its address is (docs/operate/identity.md)."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        from controller.wire.certificates import CONTROLLER  # takes its time to load, and few need it

        request.extensions["sni_hostname"] = CONTROLLER
        return super().handle_request(request)


def _trusting(file: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_verify_locations(file)
    except ssl.SSLError:
        raise WrongUsage(f"{ROOT}: {file} has no certificates in it (PEM)") from None
    except OSError as error:
        raise WrongUsage(f"{ROOT}: cannot read {file}: {error.strerror}") from None
    return context
