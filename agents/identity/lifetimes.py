"""The times at which a certificate is renewed, and at which a missing renewal becomes a problem."""

from datetime import datetime, timedelta

from agents.identity.x509 import Validity

HALF, SPREAD, QUARTER = 0.5, 0.1, 0.25


def due(validity: Validity, random: float) -> datetime:
    """Return when to ask for the next certificate: at half of the present one's life, or up to a tenth of its life
    later, so that cloudlets that enrolled together do not ask at the same time. `random` is in 0..1."""
    return validity.begin + (validity.end - validity.begin) * (HALF + SPREAD * random)


def wait(validity: Validity | None, at: datetime, random: float) -> timedelta:
    """Return how long to wait before asking for a certificate; no time if there is none."""
    return max(due(validity, random) - at, timedelta()) if validity else timedelta()


def trouble(validity: Validity | None, at: datetime, reason: str) -> str | None:
    """Return a sentence for the operator, with the reason, if less than a quarter of the certificate's life is left."""
    if validity is None:
        return None
    if at >= validity.end:
        return f"the certificate expired at {validity.end:%Y-%m-%dT%H:%M:%SZ}: {reason}"
    if validity.end - at < (validity.end - validity.begin) * QUARTER:
        return f"the certificate expires at {validity.end:%Y-%m-%dT%H:%M:%SZ} and is not renewed: {reason}"
    return None
