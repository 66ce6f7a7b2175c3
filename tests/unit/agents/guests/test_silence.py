"""The agent reports a guest that has answered before and no longer does, and no other guest."""

import pytest

from agents.guests.silence import MOST, Silence


def after(*answers: bool) -> Silence:
    silence = Silence()
    for answer in answers:
        silence.note("web", answer)
    return silence


@pytest.mark.parametrize(
    ("answers", "silent"),
    [
        ([], False),
        ([False] * 100, False),
        ([True], False),
        ([True, *[False] * (MOST - 1)], False),
        ([True, *[False] * MOST], True),
        ([True, *[False] * 100], True),
        ([True, *[False] * MOST, True], False),
        ([True, False, True, False, True, False], False),
    ],
)
def test_silence_is_several_questions_in_a_row_after_an_answer(answers: list[bool], silent: bool) -> None:
    found = after(*answers).findings()
    assert [(one.kind, one.subject) for one in found] == ([("guest-silent", "web")] if silent else [])


def test_each_change_is_said_once() -> None:
    silence = Silence()
    said = [silence.note("web", answer) for answer in (True, True, *[False] * (MOST + 3), True, True)]
    assert [at for at, changed in enumerate(said) if changed] == [1 + MOST, MOST + 5]


def test_a_machine_that_runs_here_no_more_is_forgotten() -> None:
    silence = after(True, *[False] * MOST)
    assert silence.keep({"web", "other"}) is False and silence.findings()
    assert silence.keep({"other"}) is True and not silence.findings()
    assert silence.note("web", False) is False and not silence.findings(), "it begins anew"
