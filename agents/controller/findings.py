"""Chooses the findings of a report, if there are more than it may have. Pure."""

from collections.abc import Sequence
from itertools import chain, islice, zip_longest

from controller.wire.findings import Finding
from controller.wire.reports import MOST_FINDINGS


def told(found: Sequence[Finding]) -> list[Finding]:
    """Return all findings, or one of each kind and LAN in turn until the report is full: a LAN whose devices cause
    thousands leaves room for those of others. The last one then says that there are more, but not how many, because
    each new number would cause a new report."""
    if len(found) <= MOST_FINDINGS:
        return list(found)
    sources: dict[tuple[str, str | None], list[Finding]] = {}
    for finding in found:
        sources.setdefault((finding.kind, finding.endpoint), []).append(finding)
    in_turn = (finding for finding in chain.from_iterable(zip_longest(*sources.values())) if finding is not None)
    text = f"This agent has found out more than the {MOST_FINDINGS - 1} things that it tells of."
    untold = Finding(kind="findings-untold", subject="findings", expected=str(MOST_FINDINGS), found="more", text=text)
    return [*islice(in_turn, MOST_FINDINGS - 1), untold]
