"""The check that a client with a cloudlet's credential also shows the certificate that belongs to it. Pure."""

from dataclasses import dataclass
from datetime import datetime

from controller.core.objects import Cloudlet


@dataclass(frozen=True)
class Peer:
    """The identity in a certificate: a cloudlet, its key (the SHA-256 of its SubjectPublicKeyInfo, in hexadecimal), and
    the time until which it is valid. `serial` is 40 hexadecimal digits."""

    cloudlet: str
    serial: str
    key: str
    not_after: datetime


def lacking(cloudlet: Cloudlet, peer: Peer | None, *, tls: bool, tls_only: bool) -> str | None:
    """Return what is wrong with the connection, or with the certificate it was made with; None if nothing is. Without
    TLS a credential is valid by itself, unless it is bound to a key."""
    if not tls:
        if cloudlet.key is not None:
            return f"the credential of {cloudlet.name} is good only over TLS, together with its certificate"
        return "agents are served over TLS only" if tls_only else None
    if peer is None:
        return f"the credential of {cloudlet.name} is good only together with its certificate, and none was shown"
    if peer.cloudlet != cloudlet.name:
        return f"the certificate is {peer.cloudlet}'s, the credential {cloudlet.name}'s"
    if cloudlet.key is not None and peer.key != cloudlet.key:
        return f"the certificate is not for the key that {cloudlet.name} enrolled with"
    return None


def expired(peer: Peer, at: datetime) -> str | None:
    """Return that the certificate has expired, if it has."""
    if at < peer.not_after:
        return None
    return (
        f"the certificate of {peer.cloudlet} expired at {peer.not_after:%Y-%m-%dT%H:%M:%SZ}; "
        f"`weft cloudlet token {peer.cloudlet}` makes a token to enrol with again"
    )
