"""Findings: what an agent has found out about its host and about what passes. A part of its report
(`controller/wire/reports.py`); `weft doctor` names a remedy for each kind."""

from typing import Annotated, Literal

from pydantic import Field

from controller.wire.fields import Name
from controller.wire.model import Message

FindingKind = Literal[
    "rules-gone",
    "foreign-rules",
    "setting",
    "mtu-mismatch",
    "control-word",
    "cloned-client",
    "guest-silent",
    "mac-duplicate",
    "pairs-hoarded",
    "findings-untold",
]
"""`rules-gone`: somebody else took the agent's nftables rules out, and they are back. `foreign-rules`: somebody else's
rules drop what the LANs send. `setting`: a sysctl does. `mtu-mismatch`, `control-word`: the PE at the other end of a
pseudowire announces other layer-2 information (RFC 4761, section 3.2.4). `cloned-client`: one DHCP client identifier
with two MACs. `guest-silent`: a VM runs, and its guest does not answer. `mac-duplicate`: a MAC comes from two places
of a LAN in turn (RFC 7432, section 15.1). `pairs-hoarded`: the clients at one port were refused further pairs of a LAN
that has few left. `findings-untold`: there are more than a report may have."""

Verdict = Literal["passes", "silent"]
IpFamily = Literal["ipv4", "ipv6"]


class Finding(Message):
    """One thing that is found. `subject` is what it is about (a table, a setting, a remote, a VM), `expected` and
    `found` the two values, `text` a sentence. `endpoint`: whose LAN it concerns, None for the whole cloudlet. Texts
    stay the same while nothing changes: an event tells of each new one. `milliseconds`: how long rules were gone,
    once they are back."""

    kind: FindingKind
    subject: Annotated[str, Field(max_length=120)]
    expected: Annotated[str, Field(max_length=200)]
    found: Annotated[str, Field(max_length=200)]
    text: Annotated[str, Field(max_length=500)]
    endpoint: Name | None = None
    milliseconds: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = Field(
        default=None, exclude_if=lambda some: some is None
    )


class Passage(Message):
    """Whether what the agent sends from the gateway of a LAN to the gateway of `remote` comes back: `silent` after
    several probes in a row without an answer, `passes` after one. `allowed`: whether the two share a pool; if not,
    nothing may come back. `family`: of the two gateways' addresses."""

    remote: Name
    allowed: bool
    verdict: Verdict
    family: IpFamily = Field(default="ipv4", exclude_if=lambda family: family == "ipv4")
