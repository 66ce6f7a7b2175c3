"""Neighbours: the cloudlets that a cloudlet probes, and the results of its probes (Teka, "Possible neighbour
database").

Candidates are sent as server-sent events named `candidates` on `GET /api/v1/agent/desired`, without an id: a whole
document at the beginning of a stream and whenever it changes. They are not part of the desired state or its version. An
agent that does not know the event ignores it.

`POST /api/v1/agent/neighbours` takes a report and answers 204 once the database has it. The agent repeats a report that
got no answer; the controller recognises duplicates by `run` and `number`.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from controller.wire.fields import Name
from controller.wire.model import Message

Method = Literal["icmp", "udp", "tcp"]
"""ICMP echo, STAMP over UDP (RFC 8762), or the time that a TCP connection takes to be accepted or refused."""

Milliseconds = Annotated[float, Field(ge=0, le=3_600_000, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Number = Annotated[int, Field(ge=0, le=2**63 - 1)]


class Candidate(Message):
    """A cloudlet to probe at its VTEP address."""

    cloudlet: str
    vtep: str


class Candidates(Message):
    """All neighbours that `cloudlet` probes, from its own `vtep`: `echoes` echoes to each, every `probe_seconds`. The
    agent reports results at least every `report_seconds`, and answers probes of the candidates only."""

    cloudlet: str
    vtep: str
    probe_seconds: float
    report_seconds: float
    echoes: int
    candidates: list[Candidate]


class Measurement(Message):
    """One round of echoes to a neighbour, which ended `age` seconds before the report was sent. `number` grows from one
    round of a run to the next. Times are round trips in milliseconds, None if no echo came back; `jitter_ms` is the
    mean difference between one echo and the next. `method` is the one that was answered, or else the first tried."""

    number: Number
    neighbour: Annotated[str, Field(max_length=63)]
    age: Annotated[float, Field(ge=0, le=31_536_000, allow_inf_nan=False)]
    method: Method
    sent: Annotated[int, Field(ge=1, le=1000)]
    received: Count
    min_ms: Milliseconds | None = None
    median_ms: Milliseconds | None = None
    p95_ms: Milliseconds | None = None
    jitter_ms: Milliseconds | None = None

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.received > self.sent:
            raise ValueError(f"{self.received} of {self.sent} echoes came back")
        times = (self.min_ms, self.median_ms, self.p95_ms)
        if (times == (None, None, None)) != (self.received == 0) or (None in times and self.received):
            raise ValueError("min_ms, median_ms and p95_ms are there if and only if something was received")
        if self.received and not self.min_ms <= self.median_ms <= self.p95_ms:  # type: ignore[operator]
            raise ValueError("min_ms, median_ms and p95_ms are in that order")
        return self


class NeighbourReport(Message):
    """Rounds in the order of their numbers. `run` identifies one start of the agent; `dropped` is how many rounds of
    this run the agent gave up because it could not keep them until the controller was back."""

    cloudlet: Name
    run: Annotated[str, Field(min_length=1, max_length=32, pattern="^[0-9a-zA-Z-]+$")]
    dropped: Count = 0
    measurements: Annotated[list[Measurement], Field(max_length=1000)]
