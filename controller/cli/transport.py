"""The way of a command to the controller: over a unix socket, over TLS, or httpx's default. Only this file,
`client.py`, `retries.py` and `grants.py` import httpx."""

import ssl
from urllib.parse import urlsplit

import httpx

from controller.cli.destination import ROOT
from controller.cli.failures import WrongUsage


def transport(url: str, root_file: str | None) -> httpx.BaseTransport | None:
    """Return the transport for a URL, with the file of the root to trust; None means httpx's default. Raises WrongUsage
    if the root cannot be used."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return httpx.HTTPTransport(uds=parts.path, verify=False)  # no TLS here, so no 60 ms to load authorities
    if parts.scheme == "https" and root_file:
        return _Controller(verify=_trusting(root_file), trust_env=False)
    return None


def believes(url: str, root_file: str | None) -> bool:
    """Return whether httpx's own environment applies: proxies, and further trusted authorities."""
    return urlsplit(url).scheme == "https" and not root_file


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
