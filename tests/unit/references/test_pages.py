"""The generated pages of docs/reference are as the code is now."""

import subprocess

import pytest

from controller.main import ENVIRONMENT
from controller.settings import Settings
from deploy.reference.pages import FOLDER, PAGES
from lab.paths import BIN
from tests.house.imports import ROOT
from tests.unit.references.environment import described


def printed(program: str) -> str:
    """Return the text that a Go program prints for --help."""
    return subprocess.run([BIN / program, "--help"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", PAGES)
def test_it_is_as_the_code_is(name: str) -> None:
    assert (ROOT / FOLDER / name).read_text() == PAGES[name](ROOT, printed), "make references"


def test_the_controllers_help_has_all_settings_with_their_defaults() -> None:
    known = {f"WEFT_{name.upper()}": info.default for name, info in Settings.model_fields.items()}
    found = {name: default for name, default in described(ENVIRONMENT).items() if not name.startswith("OTEL_")}
    assert found.keys() == known.keys()
    for name, default in found.items():
        if default is not None:
            shown = str(known[name]).lower() if isinstance(known[name], bool) else f"{known[name]}".removesuffix(".0")
            assert default == shown, name
