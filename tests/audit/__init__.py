"""`make audit`: a list of the parts that Weft is made of, and a check of each for known problems. There is one file per
question, and a test can check each answer; `__main__` asks all of them."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Answer:
    """The answer to one question: `found` lists the problems; `unasked` lists what could not be checked, and why."""

    question: str
    found: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())


def exit_code(answers: list[Answer]) -> int:
    """Return 0 if everything was checked and nothing is wrong, 1 if something is wrong, 2 if something could not be
    checked."""
    if any(answer.found for answer in answers):
        return 1
    return 2 if any(answer.unasked for answer in answers) else 0
