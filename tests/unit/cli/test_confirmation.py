"""On a terminal, a change that takes something away is asked about; a program is not asked."""

from pathlib import Path

import pytest

from controller.cli import confirmation
from controller.cli.confirmation import HARMFUL
from tests.unit.cli.answers import CHANGE
from tests.unit.cli.commands import walk
from tests.unit.cli.conftest import Controller, Weft
from tests.unit.cli.test_policies import APPLIED, GOOD, PLANNED


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Answers that a user at a terminal will give, and then the questions asked."""
    given: list[bool] = []
    monkeypatch.setattr(confirmation, "interactive", lambda: True)
    monkeypatch.setattr("controller.cli.policies.interactive", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda question, err: given.pop(0))
    return given


def test_the_user_is_asked(controller: Controller, weft: Weft, answers: list[bool]) -> None:
    controller.answers["DELETE", "/api/v1/vcps/blue/members/c1-lan"] = CHANGE
    answers[:] = [False]
    result = weft("vcp", "leave", "blue", "c1-lan")
    assert result.code == 1 and "nothing was changed" in result.err and controller.asked == []
    answers[:] = [True]
    assert weft("vcp", "leave", "blue", "c1-lan").code == 0 and len(controller.asked) == 1
    assert weft("vcp", "leave", "blue", "c1-lan", "--yes").code == 0
    assert weft("vcp", "leave", "blue", "c1-lan", "--dry-run").code == 0


def test_a_program_is_not_asked(controller: Controller, weft: Weft) -> None:
    controller.answers["DELETE", "/api/v1/vcps/blue/members/c1-lan"] = CHANGE
    assert weft("vcp", "leave", "blue", "c1-lan").code == 0


def test_a_policy_without_a_plan_is_shown_first(
    controller: Controller, weft: Weft, answers: list[bool], tmp_path: Path
) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(GOOD)
    file = str(path)
    controller.answers["POST", "/api/v1/policy/plan"] = PLANNED
    controller.answers["POST", "/api/v1/policy/apply"] = APPLIED
    answers[:] = [False]
    result = weft("policy", "apply", file)
    assert result.code == 1 and "+ c1-lan joins blue" in result.out
    assert all(request.url.path.endswith("plan") for request in controller.asked)
    weft("policy", "plan", file)
    assert weft("policy", "apply", file).code == 0, "what was planned is not asked about"


def test_every_harmful_verb_takes_yes() -> None:
    from typer.main import get_command

    from controller.cli.main import app

    for command in walk(get_command(app)):
        options = [name for name, _ in command.options]
        if " " in command.name and command.name.split()[1] in HARMFUL and "--url" in options:
            assert "--yes" in options, command.name
