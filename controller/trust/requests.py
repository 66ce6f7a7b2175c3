"""The check of certificate requests. Only the key of a request counts; names, addresses and uses come from the
controller's own records."""

from controller.core.refusals import invalid
from controller.trust.x509 import Unreadable, read_request


def check(csr: str, cloudlet: str) -> None:
    """Raise Refused unless the request is for this cloudlet, signed with its own key, and the key is of an accepted
    type."""
    try:
        request = read_request(csr)
    except Unreadable as error:
        raise invalid("csr", f"the certificate request is refused: {error}") from None
    if request.name != cloudlet:
        raise invalid("csr", f"the certificate request is refused: it is not for {cloudlet}")
