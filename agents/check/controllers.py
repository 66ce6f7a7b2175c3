"""The controllers: whether each answers, whether it is the one that the token is from, and the clock."""

from datetime import UTC, datetime

from agents.controller.client import Controller, ControllerAway, ControllerRefused, Greeting
from agents.identity.x509 import Unfit, pinned
from agents.settings import Settings
from controller.wire.checks import Result, failed, ok, warning

APART, TOO_FAR = 2.0, 60.0
"""Seconds that clocks may be apart without a warning, and with one. HTTP's Date has whole seconds (RFC 9110, section
6.6.1). Certificates begin a minute before their issue."""


async def results(settings: Settings) -> list[Result]:
    """Return results for each controller of the settings."""
    found: list[Result] = []
    for url in map(str, settings.controller):
        subject = f"controller {url.rstrip('/')}"
        async with Controller(url) as controller:
            try:
                greeting = await controller.greet()
            except ControllerAway as away:
                found.append(failed(subject, f"does not answer: {away}", "look at routes, packet filters and the URL"))
                continue
            except ControllerRefused as refused:
                found.append(failed(subject, f"answers {refused.status}: {refused}", "is that URL a controller's?"))
                continue
        found += [_trusted(subject, url, greeting, settings), clock(greeting.clock, datetime.now(UTC))]
    return found


def _trusted(subject: str, url: str, greeting: Greeting, settings: Settings) -> Result:
    if not url.startswith("https:"):
        return warning(subject, "answers, in the clear", "use https:// and the port of WEFT_AGENT_LISTEN")
    try:
        fingerprint = settings.token_file.read_text().strip().partition(".")[2]
    except OSError:
        return ok(subject, f"answers; {settings.token_file} is not there, so its root is not compared")
    try:
        pinned(greeting.authorities or "", fingerprint)
    except Unfit as unfit:
        return failed(
            subject, f"is not the one that the token is from: {unfit}", "weft cloudlet token makes a new token"
        )
    return ok(subject, "answers, and has the root that the token names")


def clock(theirs: datetime | None, ours: datetime) -> Result:
    """Return the result of comparing the clocks of a controller and of this host."""
    if theirs is None:
        return warning("clock", "the controller does not say its time")
    apart = abs((ours - theirs).total_seconds())
    if apart <= APART:
        return ok("clock", f"within {APART:.0f} s of the controller's")
    said = f"{apart:.0f} s from the controller's"
    remedy = "set the clock of both by NTP"
    return warning("clock", said, remedy) if apart <= TOO_FAR else failed("clock", said, remedy)
