"""The signature of a message, by Standard Webhooks: the only module that imports its library."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from standardwebhooks import Webhook

from controller.core.cloud_events import MEDIA_TYPE


def headers(secrets: Sequence[str], identity: str, body: bytes, at: datetime) -> Mapping[str, str]:
    """Return the headers of an attempt at a time: the message's id, the time, and a signature over both and the body
    with each secret. A receiver refuses an old time, and an id that it has seen."""
    signatures = [Webhook(secret).sign(identity, at, body.decode()) for secret in secrets]
    return {
        "Content-Type": MEDIA_TYPE,
        "webhook-id": identity,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
