"""A controller for all tests of a file, whose region is empty before each test and after it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.terraform.controller import Controller, running
from tests.unit.terraform.workspace import Workspace


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    with running(tmp_path_factory.mktemp("controller")) as found:
        yield found


@pytest.fixture
def workspace(tmp_path: Path, controller: Controller) -> Iterator[Workspace]:
    assert controller.empty()
    found = Workspace(tmp_path / "workspace", controller)
    yield found
    found.destroy()
    assert controller.empty(), "destroy leaves something"
