"""For all tests."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.postgres import Cluster

# A suite started in the background inherits an ignored SIGINT, and so would every process that a test starts and then
# interrupts as a person at the keyboard would.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same inputs every time, however long they take; `--hypothesis-profile=search` looks for new ones.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("same")


THOROUGH = "--thorough"


def pytest_addoption(parser: pytest.Parser) -> None:
    what = "also what is too much for every change: tests marked `thorough`, and ON_ONE of unit/controller on SQLite"
    parser.addoption(THOROUGH, action="store_true", help=what)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption(THOROUGH):
        leave(config, items, {item for item in items if item.get_closest_marker("thorough")})


def leave(config: pytest.Config, items: list[pytest.Item], left: set[pytest.Item]) -> None:
    """Does not run some of the tests, and says how many."""
    config.hook.pytest_deselected(items=list(left))
    items[:] = [item for item in items if item not in left]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL server for all tests that want one. A test that stops it takes one of its own."""
    with Cluster() as server:
        yield server
