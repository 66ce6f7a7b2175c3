"""The description of a type of event."""

from dataclasses import dataclass


@dataclass(frozen=True)
class EventType:
    """`when` is a sentence on what has happened, `about` the event's subject, `by` the cause, `data` the keys of its
    data for programs."""

    when: str
    about: str
    by: str
    data: tuple[str, ...] = ()
