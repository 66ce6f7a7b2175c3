"""Every event that a test of the controller causes is in the catalogue, with all of its data: the code computes some
types, and passes some data on, so that only running it shows them."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from controller.core.event_types import EVENT_TYPES
from controller.db import events

MADE_UP = {"test_away.py", "test_event_budget.py", "test_events.py"} | {
    f"test_webhook{part}.py" for part in ("s", "_receivers", "_secrets")
}
"""Tests about the log itself and its receivers, which record events of their own."""


@pytest.fixture(autouse=True)
def catalogued(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Look at every event that is recorded in this process, but for those that a fake route server has seen."""
    put, strange = events.put, set[str]()

    async def looked_at(
        session: AsyncSession, type: str, subject: str, text: str, data: dict[str, Any], source: str | None
    ) -> None:
        known = EVENT_TYPES.get(type)
        if known is None or not data.keys() <= set(known.data):
            strange.update([] if "route_server" in data else [f"{type} of {subject} with {sorted(data)}"])
        await put(session, type, subject, text, data, source)

    monkeypatch.setattr(events, "put", looked_at)
    yield
    assert not strange or request.path.name in MADE_UP, f"not in controller/core/event_types: {sorted(strange)}"
