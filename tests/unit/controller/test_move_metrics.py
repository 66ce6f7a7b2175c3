"""The metrics of moves, and that they count what is committed and nothing else."""

import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import text

from controller.db.after_commit import after_commit
from controller.db.engine import Database
from controller.runtime.move_metrics import MoveMetrics
from controller.wire.moves import Figures, Pages

PAGES = Pages(zero=5, same=4, known=3, delta=2, literal=1, repeats=1, kept=True)
FIGURES = {
    "disk": Figures(done=8192, wire=300, pages=PAGES),
    "memory": Figures(done=4096, wire=100, pages=PAGES),
    "switchover": Figures(wire=20, paused_ms=250.0),
}


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def test_a_move_that_is_done(registry: CollectorRegistry) -> None:
    MoveMetrics(registry).ended("done", 12.0, FIGURES)
    expected = {
        ("weft_moves_ended_total", "state", "done"): 1,
        ("weft_move_bytes_total", "medium", "disk"): 8192,
        ("weft_move_wire_bytes_total", "medium", "disk"): 300,
        ("weft_move_bytes_total", "medium", "memory"): 4096,
        ("weft_move_wire_bytes_total", "medium", "memory"): 120,
        ("weft_move_pages_total", "how", "zero"): 10,
        ("weft_move_pages_total", "how", "literal"): 2,
        ("weft_move_kept_copies_total", "medium", "disk"): 1,
    }
    assert {at: registry.get_sample_value(at[0], {at[1]: at[2]}) for at in expected} == expected
    assert registry.get_sample_value("weft_move_seconds_sum") == 12.0
    assert registry.get_sample_value("weft_move_paused_seconds_sum") == 0.25
    assert registry.get_sample_value("weft_move_repeats_total") == 2


def test_a_move_that_was_undone_counts_as_that_alone(registry: CollectorRegistry) -> None:
    MoveMetrics(registry).ended("undone", 12.0, FIGURES)
    assert registry.get_sample_value("weft_moves_ended_total", {"state": "undone"}) == 1
    assert registry.get_sample_value("weft_move_seconds_count") == 0
    assert registry.get_sample_value("weft_move_wire_bytes_total", {"medium": "memory"}) == 0


async def test_what_waits_for_a_commit(database_url: str) -> None:
    database, done = Database(database_url), []
    async with database.write() as session:
        await session.execute(text("SELECT 1"))
        after_commit(session, lambda: done.append("committed"))
        assert not done
    assert done == ["committed"]
    with pytest.raises(RuntimeError):
        async with database.write() as session:
            await session.execute(text("SELECT 1"))
            after_commit(session, lambda: done.append("rolled back"))
            raise RuntimeError
    async with database.write() as session:
        await session.execute(text("SELECT 1"))
    assert done == ["committed"]
    await database.close()
