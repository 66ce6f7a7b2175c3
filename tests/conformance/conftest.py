"""The two cloudlets of a test."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.conformance.bench import Bench, chosen
from tests.conformance.pair import Pair


@pytest.fixture(scope="session")
def bench() -> Iterator[Bench]:
    with chosen() as found:
        yield found


@pytest_asyncio.fixture
async def pair(bench: Bench, tmp_path: Path) -> AsyncIterator[Pair]:
    made = Pair(bench, tmp_path)
    try:
        yield made
    finally:
        await made.clear()
