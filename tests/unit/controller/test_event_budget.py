"""No source outside of the controller can fill the event list: a budget for each source, limits for the data, and for
the stored events."""

import ast
import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

import controller as package
from controller.core.event_budget import HELD, KIND_BURST, WIDE, WIDE_BURST, EventBudget, of_cloudlet, of_pe
from controller.core.event_data import FOREIGN, capped
from controller.db import events, webhooks
from controller.db.engine import Database
from controller.runtime.event_log import ServerEvent
from tests.kernels import kernel
from tests.unit.controller.conftest import Controller

OWN = {
    "api/applying.py",
    "api/cloudlets.py",
    "api/consents.py",
    "api/enrolments.py",  # an operator made the token
    "api/held.py",
    "api/inventory_applying.py",
    "api/members.py",
    "api/route_servers.py",
    "api/vcps.py",
    "auth/tokens.py",
    "changes/drift.py",
    "changes/drift_watch.py",
    "changes/flow.py",
    "db/webhooks.py",  # once until an operator resumes the receiver
    "inventory/cloudlets.py",
    "inventory/endpoints.py",
    "leases/devices.py",
    "leases/reservations.py",
    "migration/controller_steps.py",
    "migration/initiations.py",  # each is a move's
    "migration/move_schedule.py",
    "migration/moves.py",
    "migration/transitions.py",  # the steps of a move are limited in number
    "migration/vms.py",
    "region.py",
    "routeservers/session_keys.py",
    "runtime/event_log.py",  # the route servers themselves
    "webhooks/sender.py",  # a pause, which an operator ends
    "webhooks/webhooks.py",
}
"""Modules in which operators and the controller itself cause all events, or events have no source."""


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    found = Database(database_url)
    yield found
    await found.close()


def _sourceless() -> Iterator[str]:
    root = Path(package.__file__).parent
    for file in sorted(root.rglob("*.py")):
        for call in (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)):
            name = ast.unparse(call.func)
            named = "caused_by" in {keyword.arg for keyword in call.keywords}
            if name.endswith(("events.add", "events.add_all", "journal.note")) and not named:
                yield file.relative_to(root).as_posix()


def test_each_event_names_its_source_or_is_the_controller_s_own() -> None:
    mixed = {"leases/static_hosts.py", "identity/certificates.py"}  # operators cause some of these events
    assert set(_sourceless()) - mixed <= OWN


def test_one_source_takes_nothing_from_another() -> None:
    budget = EventBudget()
    for number in range(10_000):
        budget.admit("cloudlet:c1", "agent-problems", f"problem {number}", 1.0)
    assert budget.admit("cloudlet:c2", "agent-problems", "another's", 1.0)
    assert budget.admit("cloudlet:c1", "rules-gone", "another kind", 1.0)
    assert not list(budget.due(2.0))
    [(source, held)] = budget.due(100.0)
    assert (source, held.counts) == ("cloudlet:c1", {"agent-problems": 10_000 - KIND_BURST})
    assert "problem 9999" in held.text(source)
    assert budget.admit("cloudlet:c1", "agent-problems", "later", 1000.0)


@pytest.mark.parametrize("kind", [*sorted(WIDE), "agent-problems", "session-down", "made-up"])
def test_each_kind_of_one_source_is_bounded(kind: str) -> None:
    budget = EventBudget()
    admitted = sum(budget.admit("pe:192.0.2.1", kind, "again", at / 50) for at in range(30_000))  # ten minutes
    burst = WIDE_BURST if kind in WIDE else KIND_BURST
    assert burst <= admitted <= 2 * burst + 60


def test_a_source_that_thinks_up_kinds_is_bounded() -> None:
    budget = EventBudget()
    assert sum(budget.admit("pe:192.0.2.1", f"kind-{at}", "", at / 1000) for at in range(100_000)) <= WIDE_BURST + 200


def test_a_thousand_cloudlets_that_join_are_all_told() -> None:
    budget = EventBudget()
    for name in (of_cloudlet(f"c{number}") for number in range(1000)):
        for kind in ("certificate-issued", "agent-problems", "agent-problems", "neighbour-possible"):
            assert budget.admit(name, kind, "", 1.0)
    assert all(budget.admit("endpoint:c1-lan", "lease-granted", "", 1.0) for _ in range(1000))


@pytest.mark.parametrize(
    "data",
    [
        {"problems": ["x" * 3_000_000]},
        {"problems": ["x"] * 100_000},
        {"problems": "\ud800" * 100_000, "milliseconds": 5},
        {"x" * 100_000: 1},
        {f"key {number}": "é" * 200 for number in range(1000)},
        {"deep": {"deeper": ["x" * 10_000]}},
    ],
)
def test_data_is_cut_in_words(data: dict[str, object]) -> None:
    cut = capped(data, FOREIGN)
    assert len(json.dumps(cut)) <= FOREIGN
    assert "bytes; at most" in cut["cut"]
    assert capped({"problems": ["short"]}, FOREIGN) == {"problems": ["short"]}


async def test_history_is_kept_by_source(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "KEPT", 30)
    monkeypatch.setattr(events, "KEPT_OF_SOURCE", 10)
    async with database.write() as session:
        await events.add(session, "vcp-created", "blue", "an operator's")
        await events.add(session, "rules-gone", "c2", "another's", caused_by="cloudlet:c2")
    async with database.write() as session:
        for number in range(50):
            await events.add(session, f"kind-{number}", "c1", "one's", caused_by="cloudlet:c1")
        await events.prune(session, webhooks.lose)
    async with database.write() as session:
        await events.prune(session, webhooks.lose)
    async with database.read() as session:
        kept = [row.source for row in await events.after(session, 0, 100)]
    assert kept.count(None) == 1
    assert kept.count("cloudlet:c1") == 10


async def test_an_agent_that_alternates_its_problems_is_bounded(controller: Controller) -> None:
    agent = await controller.agent("c1", 1)
    report = kernel(agent.documents[-1]).model_dump(mode="json")
    for number in range(200):
        report["endpoints"][0]["problems"] = ["x" * 2000, f"problem {number}"]
        answer = await controller.http.post("/api/v1/agent/reports", json=report, headers=agent.headers)
        assert answer.status_code == 204, answer.text
    controller.region.runtime.event_log.tell_held(leading=True, all_=True)
    await controller.region.runtime.event_log.heard("rs1", "then", ServerEvent(1, "session-up", {"peer": "192.0.2.9"}))
    async with asyncio.timeout(10):
        items: list[dict[str, Any]] = []
        while not any(event["type"] == "session-up" for event in items):
            items = (await controller.get("/events", limit=1000))["items"]
            await asyncio.sleep(0.02)
    problems = [event for event in items if event["type"] == "agent-problems"]
    assert KIND_BURST <= len(problems) <= KIND_BURST + 10
    assert all(len(json.dumps(event["data"])) <= FOREIGN for event in problems)
    [held] = [event for event in items if event["type"] == HELD]
    assert held["data"]["held"] == {"agent-problems": 200 - len(problems)}
    assert {event["source"] for event in items if event["type"] == "session-up"} == {of_pe("192.0.2.9")}
