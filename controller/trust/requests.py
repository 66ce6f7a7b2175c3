"""Whether a certificate request may be signed. Of what it says, only the key counts: names, addresses and uses are
those that the controller knows of."""

from controller.core.refusals import invalid
from controller.trust.x509 import Unreadable, read_request


def check(csr: str, cloudlet: str) -> None:
    """Raises Refused unless it is a request of this cloudlet, signed with the key it is for, and that key is one that
    can be relied on."""
    try:
        request = read_request(csr)
    except Unreadable as error:
        raise invalid("csr", f"the certificate request is refused: {error}") from None
    if request.name != cloudlet:
        raise invalid("csr", f"the certificate request is refused: it is not for {cloudlet}")
