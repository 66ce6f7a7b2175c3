"""The way of a command to the controller: over a unix socket, over TLS, or httpx's default. Only this file,
`client.py`, `retries.py` and `grants.py` import httpx."""

import os
import ssl
from urllib.parse import urlsplit

import httpx

from controller.cli import contexts
from controller.cli.failures import WrongUsage

ROOT = "WEFT_ROOT_FILE"
"""The file of the region's root (`weft certificate authority`). With it, an https:// URL must be the region's
controller."""


def transport(url: str) -> httpx.BaseTransport | None:
    """Return the transport for a URL; None means httpx's default. Raises WrongUsage if the root cannot be used."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return httpx.HTTPTransport(uds=parts.path, verify=False)  # no TLS here, so no 60 ms to load authorities
    if parts.scheme == "https" and (file := _root_file()):
        return _Controller(verify=_trusting(file), trust_env=False)
    return None


def believes(url: str) -> bool:
    """Return whether httpx's own environment applies: proxies, and further trusted authorities."""
    return urlsplit(url).scheme == "https" and not _root_file()


def _root_file() -> str | None:
    """Return the file of the root to trust: the context's, else that of the environment."""
    context = contexts.chosen()
    return context.root_file if context is not None else os.environ.get(ROOT)


class _Controller(httpx.HTTPTransport):
    """Expects the controller's name in the certificate, whatever the address is (docs/operate/identity.md)."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        from controller.wire.certificates import CONTROLLER  # takes time to load, and few commands need it

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
