"""Fixtures and settings for all tests."""

import gc
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.postgres import Cluster
from tests.tiers import Tier, add_option, leave, left_out, tier

# A suite started in the background inherits an ignored SIGINT, and so would every process that a test starts and then
# interrupts as a person at the keyboard would.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same inputs every time, however long they take, and fewer in the first tier. `--hypothesis-profile=search` looks
# for new ones.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("smoke", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("same")


def pytest_addoption(parser: pytest.Parser) -> None:
    add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    if tier(config) is Tier.SMOKE and not config.getoption("hypothesis_profile", None):
        settings.load_profile("smoke")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave(config, items, {item for item in items if left_out(tier(config), item)})


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()  # all modules: searching them again and again took a sixth of the unit tests' time


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL server that tests share. A test that stops the server starts one of its own."""
    with Cluster() as server:
        yield server
