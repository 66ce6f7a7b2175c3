"""Decides what of a siege is wrong. Pure."""

from collections.abc import Iterator

from controller.agents.neighbours import PAUSE
from lab.siege.figures import Figures

ANSWER = 1.0
"""Seconds within which the controller must answer 99 of 100 legitimate requests."""

PROBES = "an agent's probes"
"""The caller that reports rounds of probes. The controller writes a second's reports in one transaction."""

WAITED = {PROBES: PAUSE}
"""Seconds that the controller lets a caller's request wait on purpose."""

BUDGET = 256 << 20
"""Bytes that one PE's routes may take of a route server (`--max-bytes`)."""

COLLECTED = 1.5
"""The factor by which the heap grows before the garbage collector runs."""

GROWTH = 256 << 20
"""Bytes by which any other daemon may grow. The controller keeps 64 MiB of Idempotency-Keys, and for each connection
over TLS 32 KiB and its request's data. The others have no reason to come near this limit."""


def wrong(base: Figures, siege: Figures) -> list[str]:
    """Return what is wrong, in sentences. If there are none, no legitimate user or device has noticed the siege."""
    return [
        *(f"before the siege: {text}" for text in _noticed(base)),
        *_noticed(siege),
        *(f"the attack {name} ended too early: {siege.attacks.get(name)}" for name in siege.gone),
        *(f"{name} has a defect: {text}" for name, done in siege.attacks.items() for text in done if "defect" in text),
        *(f"{name} attacked nobody" for name, done in siege.attacks.items() if not done),
    ]


def _growth(name: str) -> int:
    return int(BUDGET * COLLECTED) if name.startswith("rs") else GROWTH


def _noticed(one: Figures) -> Iterator[str]:
    for pair, pings in one.pings.items():
        if pings.lost or not pings.sent:
            yield f"{pings.lost} of {pings.sent} pings {pair} were lost"
    for name, calls in one.calls.items():
        bound = ANSWER + WAITED.get(name, 0.0)
        if calls.p99 >= bound:
            yield f"99 of 100 requests of {name} took {calls.p99:.2f} s, not less than {bound:g} s"
        if calls.failed or not calls.sent:
            yield f"{calls.failed} of {calls.sent} requests of {name} had no good answer: {dict(calls.statuses)}"
    for name, gauge in one.gauges.items():
        if gauge.restarted:
            yield f"{name} died"
        grown, bound = gauge.most_bytes - gauge.first_bytes, _growth(name)
        if grown > bound:
            yield f"{name} grew by {grown >> 20} MiB, more than {bound >> 20}"
    yield from (f"this event is missing: {text}" for text in one.missing)
    yield from (f"this lease is missing: {text}" for text in one.unleased)
    yield from (f"a session of good will ended: {text}" for text in one.resets)
    yield from one.failed
    if not one.deeds:
        yield "nobody did anything"
