"""The controller stores nothing for an unknown caller, and judges a request by its head."""

from typing import Any

import pytest
from sqlalchemy import func, select, text, update

from controller.api.middleware import body_limits
from controller.api.middleware import idempotency as middleware
from controller.db import idempotency
from controller.db.base import Base
from controller.db.idempotency import IdempotencyRow
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.listening import AGENT, JSON, OPERATOR, Listen, Listening

GUESS = {"Authorization": "Bearer a-guess"}


async def rows(controller: Listening) -> dict[str, int]:
    async with controller.region.database.read() as session:
        tables = Base.metadata.tables.values()
        return {table.name: await session.scalar(select(func.count()).select_from(table)) or 0 for table in tables}


async def test_a_stranger_leaves_nothing_behind(listen: Listen) -> None:
    """This holds for any path, method and key."""
    async with listen(stranger_rate=0) as controller:
        before = await rows(controller)
        document = (await controller.http.get("/openapi.json")).json()
        paths = [(method.upper(), path) for path, verbs in document["paths"].items() for method in verbs]
        paths += [("POST", f"/none/{number}") for number in range(20)] + [("POST", "/" + "x" * 8000)]
        for number, (method, path) in enumerate(paths):
            where = path.replace("{", "").replace("}", "")
            for who in ({}, GUESS):
                headers = who | JSON | {"Idempotency-Key": f"key-{number}"}
                answer = await controller.http.request(method, where, content=b"{}", headers=headers)
                assert len(answer.content) < 1000 or method == "GET", (method, path)
                assert answer.status_code >= 400 or method == "GET", (method, path)
        assert await rows(controller) == before


async def test_a_path_that_is_none_leaves_nothing_behind(listen: Listen) -> None:
    async with listen() as controller:
        for number in range(3):
            key = OPERATOR | JSON | {"Idempotency-Key": f"key-{number}"}
            answer = await controller.http.post("/none/" + "x" * 8000, content=b"{}", headers=key)
            problem(answer, 404)
            assert len(answer.content) < 1000
        assert (await rows(controller))["idempotency"] == 0


async def test_a_stranger_s_body_is_not_looked_at(listen: Listen, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    monkeypatch.setattr(body_limits, "unfit", lambda body: looked.append(len(body)))
    async with listen() as controller:
        for path in ("/api/v1/vcps", "/api/v1/agent/reports", "/api/v1/policy/check", "/none"):
            for who in ({}, GUESS):
                problem(await controller.http.post(path, content=b"[" * 200_000, headers=who | JSON), 401)
        assert looked == []
        problem(await controller.http.post("/api/v1/enrolments", content=b"[" * 20_000, headers=JSON), 400)
        assert (await controller.http.post("/api/v1/agent/reports", content=b"{}", headers=AGENT | JSON)).is_error
        assert looked == [20_000, 2]


async def test_a_stranger_s_body_without_an_end_is_not_read_for_ever(listen: Listen) -> None:
    async with listen(request_seconds=20) as controller:
        head = "POST /api/v1/vcps HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: chunked\r\n\r\n"
        chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        answer = await controller.raw(head, *[chunk] * 6, pause=0.05)
        assert not answer or answer.startswith("HTTP/1.1 401 ")


async def test_methods_that_are_made_up_are_counted_together(listen: Listen) -> None:
    async with listen(stranger_rate=0) as controller:
        for number in range(20):
            await controller.http.request(f"MADE-UP-{number}", "/none")
            await controller.http.request(f"MADE-UP-{number}", "/api/v1/vcps", headers=OPERATOR)
        told = (await controller.http.get("/metrics")).text
        assert "MADE-UP" not in told and 'method="other"' in told


async def keep(controller: Controller, keys: int, prefix: str) -> None:
    for number in range(keys):
        headers = {"Idempotency-Key": f"{prefix}-{number}"}
        answer = await controller.http.post("/api/v1/vcps", json={"name": f"{prefix}-{number}"}, headers=headers)
        assert answer.status_code == 201


async def test_each_caller_has_a_share_of_what_is_kept(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller's latest entries stay; entries of others, and requests under way, are not touched."""
    monkeypatch.setattr(idempotency, "MOST", 4)
    monkeypatch.setattr(middleware, "PRUNED", 5)
    database = controller.region.database
    async with database.write() as session:
        idempotency.begin(session, "under-way", "r", "gone", "another")
        for number in range(3):
            idempotency.begin(session, f"other-{number}", "r", "gone", "another")
            await session.flush()
            await session.execute(
                update(IdempotencyRow).where(IdempotencyRow.key == f"other-{number}").values(status=201)
            )
    await keep(controller, 9, "p")
    async with database.read() as session:
        count = await session.scalar(text("SELECT count(*) FROM idempotency WHERE caller <> 'another'"))
        assert count is not None and count <= 4 + 5
    async with database.write() as session:
        await idempotency.prune(session)
    again: dict[str, Any] = {"json": {"name": "p-8"}, "headers": {"Idempotency-Key": "p-8"}}
    assert (await controller.http.post("/api/v1/vcps", **again)).headers["idempotency-replayed"] == "true"
    async with database.write() as session:
        assert await session.scalar(text("SELECT count(*) FROM idempotency WHERE caller = 'another'")) == 4
        monkeypatch.setattr(idempotency, "MOST_BYTES", 1)
        await idempotency.prune(session)
        assert await session.scalar(text("SELECT count(*) FROM idempotency WHERE status IS NULL")) == 1
        assert await session.scalar(text("SELECT count(*) FROM idempotency WHERE caller <> 'another'")) == 0


async def test_what_is_wrong_is_repeated_within_bounds(controller: Controller) -> None:
    body = {"name": "blue", **{f"made-up-{number}" * 50: 1 for number in range(300)}}
    answer = await controller.http.post("/api/v1/vcps", json=body)
    problem(answer, 422)
    assert len(answer.content) < 60_000 and len(answer.json()["errors"]) <= 100
