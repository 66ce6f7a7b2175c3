"""When a certificate is renewed, and when it is time to say that it was not."""

from datetime import datetime, timedelta

from agents.identity.x509 import Validity

HALF, SPREAD, QUARTER = 0.5, 0.1, 0.25


def due(validity: Validity, random: float) -> datetime:
    """When to ask for the next one: at half of its life, or up to a tenth of it later, so that cloudlets that enrolled
    together do not come in step. `random` is in 0..1."""
    return validity.begin + (validity.end - validity.begin) * (HALF + SPREAD * random)


def wait(validity: Validity | None, at: datetime, random: float) -> timedelta:
    """How long to wait before asking for a certificate; nothing if there is none."""
    return max(due(validity, random) - at, timedelta()) if validity else timedelta()


def trouble(validity: Validity | None, at: datetime, reason: str) -> str | None:
    """What an operator has to know: that less than a quarter of its life is left, or nothing, and why."""
    if validity is None:
        return None
    if at >= validity.end:
        return f"the certificate expired at {validity.end:%Y-%m-%dT%H:%M:%SZ}: {reason}"
    if validity.end - at < (validity.end - validity.begin) * QUARTER:
        return f"the certificate expires at {validity.end:%Y-%m-%dT%H:%M:%SZ} and is not renewed: {reason}"
    return None
