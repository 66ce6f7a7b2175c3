"""Findings: problems that an agent has found at its host and in its traffic. A part of its report
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
"""`rules-gone`: another program removed the agent's nftables rules, and the agent has restored them. `foreign-rules`:
another program's rules drop traffic of the LANs. `setting`: a sysctl drops it. `mtu-mismatch`, `control-word`: the PE
at the other end of a pseudowire announces other layer-2 information (RFC 4761, section 3.2.4). `cloned-client`: one
DHCP client identifier with two MACs. `guest-silent`: a VM runs, and its guest does not answer. `mac-duplicate`: a MAC
comes from two places of a LAN in turn (RFC 7432, section 15.1). `pairs-hoarded`: the clients at one port were refused
further pairs of a LAN that has few left. `findings-untold`: there are more findings than a report may have."""

Verdict = Literal["passes", "silent"]
IpFamily = Literal["ipv4", "ipv6"]


class Finding(Message):
    """One finding. `subject` is its subject (a table, a setting, a remote, a VM), `expected` and `found` the two
    values, `text` a sentence. `endpoint` is the endpoint of the LAN concerned, None for the whole cloudlet. Texts stay
    the same while nothing changes, because each new text causes an event. `milliseconds` is how long rules were
    missing, once they are restored."""

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
    """The result of probes from the gateway of a LAN to the gateway of `remote`: `silent` after several probes in a row
    without an answer, `passes` after one answer. `allowed`: whether the two share a pool; if not, no answer may arrive.
    `family` is that of the two gateways' addresses."""

    remote: Name
    allowed: bool
    verdict: Verdict
    family: IpFamily = Field(default="ipv4", exclude_if=lambda family: family == "ipv4")
