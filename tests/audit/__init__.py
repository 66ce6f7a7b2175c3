"""`make audit`: what Weft is made of, and what is known against it. One file per question, each with an answer that a
test can check; `__main__` asks them all."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Answer:
    """`found` is what somebody has to look at; `unasked` is what could not be found out, and why."""

    question: str
    found: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())


def exit_code(answers: list[Answer]) -> int:
    """0: everything was asked, and nothing is wrong; 1: something is; 2: not everything could be asked."""
    if any(answer.found for answer in answers):
        return 1
    return 2 if any(answer.unasked for answer in answers) else 0
