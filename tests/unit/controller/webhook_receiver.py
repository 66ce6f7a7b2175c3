"""A receiver of webhooks over HTTPS on loopback, with a certificate of an authority of its own. It checks signatures
with the library of Standard Webhooks, and documents with that of CloudEvents."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cloudevents.core.bindings.http import HTTPMessage, from_http_event
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.x509.oid import NameOID
from standardwebhooks import Webhook
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from controller.core.clock import now
from controller.trust.x509 import key_usage
from tests.unit.controller.fake_routeserver import serving


@dataclass
class Message:
    """A request as it came in."""

    body: bytes
    headers: dict[str, str]

    @property
    def number(self) -> int:
        """The id of the event."""
        return int(self.event["data"]["id"])

    @property
    def event(self) -> dict[str, Any]:
        """The document's attributes and its data, read by the library."""
        read = from_http_event(HTTPMessage(headers=self.headers, body=self.body))
        return {**read.get_attributes(), "data": read.get_data()}

    def check(self, secret: str) -> Any:
        """Return the document if it is signed with the secret. Raises WebhookVerificationError."""
        return Webhook(secret).verify(self.body, self.headers)


Answer = Callable[[Message], Response]


def taken(_: Message) -> Response:
    return Response(status_code=204)


@dataclass
class Receiver:
    """`answer` answers each message; while `holds` is not set, messages wait for their answer."""

    root: str
    url: str = ""
    answer: Answer = taken
    heard: list[Message] = field(default_factory=list)
    holds: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.holds.set()

    @property
    def numbers(self) -> list[int]:
        """The ids of the events in the order in which they came."""
        return [message.number for message in self.heard]

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        message = Message(await request.body(), dict(request.headers))
        self.heard.append(message)
        await self.holds.wait()
        await self.answer(message)(scope, receive, send)


def certificate(folder: Path) -> tuple[str, dict[str, Any]]:
    """Return the certificate of a new authority, and uvicorn's options for TLS with a certificate for 127.0.0.1."""
    root, server = generate_private_key(SECP256R1()), generate_private_key(SECP256R1())
    signed = _signed("receivers", root, root)
    (folder / "key.pem").write_bytes(_pem(server))
    (folder / "certificate.pem").write_bytes(_signed("127.0.0.1", server, root))
    options = {"ssl_certfile": str(folder / "certificate.pem"), "ssl_keyfile": str(folder / "key.pem")}
    return signed.decode(), options


def _pem(key: EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _signed(name: str, key: EllipticCurvePrivateKey, root: EllipticCurvePrivateKey) -> bytes:
    at, authority = now(), key is root
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "receivers")]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(at - timedelta(hours=1))
        .not_valid_after(at + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(root.public_key()), critical=False)
    )
    if authority:  # Python 3.13 asks for it
        builder = builder.add_extension(key_usage(signs=True), critical=True)
    else:
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
        builder = builder.add_extension(names, critical=False)
    return builder.sign(root, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


@asynccontextmanager
async def receiving(folder: Path) -> AsyncIterator[Receiver]:
    """Yield a running receiver."""
    root, tls = certificate(folder)
    receiver = Receiver(root)
    async with serving(receiver.app, grace=0, lifespan="off", interface="asgi3", **tls) as receiver.url:
        try:
            yield receiver
        finally:
            receiver.holds.set()
