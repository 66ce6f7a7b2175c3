"""The audit log: no change without its entry, no entry without its change, and tampering is visible."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from controller.core.audit import LONGEST, AuditEntry, Chain, asked, details, seal
from controller.db import audit, events
from controller.db.engine import Database
from tests.unit.controller.conftest import Controller, Start, eventually, problem
from tests.unit.controller.test_tokens import holder

WORDS = st.text(max_size=20)
ENTRIES = st.lists(
    st.builds(
        AuditEntry, st.just(0), st.datetimes(timezones=st.just(UTC)), WORDS, WORDS, WORDS, st.integers(100, 599), WORDS
    ),
    min_size=1,
    max_size=8,
)


def sealed(entries: list[AuditEntry]) -> list[tuple[AuditEntry, str]]:
    chain, found = Chain(), []
    for number, one in enumerate(entries, 1):
        entry = replace(one, number=number)
        found.append((entry, seal(chain.seal, entry)))
        assert chain.follow(*found[-1]) is None
    return found


def first_flaw(entries: list[tuple[AuditEntry, str]]) -> int | None:
    """Return the number of the first entry that does not fit into the chain, counted from 1."""
    chain = Chain()
    return next((n for n, one in enumerate(entries, 1) if chain.follow(*one)), None)


@given(ENTRIES, st.data())
def test_the_first_entry_that_was_tampered_with_is_found(entries: list[AuditEntry], data: st.DataObject) -> None:
    log = sealed(entries)
    assert first_flaw(log) is None
    at = data.draw(st.integers(0, len(log) - 1))
    name = data.draw(st.sampled_from(["at", "who", "method", "path", "status", "details"]))
    value = data.draw(
        {"at": st.datetimes(timezones=st.just(UTC)), "status": st.integers(100, 599)}.get(name, WORDS).filter(
            lambda value: value != getattr(log[at][0], name)
        )
    )
    change: Any = {name: value}
    other = replace(log[at][0], **change)
    assert first_flaw([*log[:at], (other, log[at][1]), *log[at + 1 :]]) == at + 1
    before = log[at - 1][1] if at else "0" * 64
    anew = [*log[:at], (other, seal(before, other)), *log[at + 1 :]]
    assert first_flaw(anew) == (at + 2 if at + 1 < len(log) else None), "the next one does not follow any more"
    assert first_flaw([*log[:at], *log[at + 1 :]]) == (at + 1 if at + 1 < len(log) else None)


@given(st.recursive(st.none() | st.text() | st.floats() | st.integers(), lambda x: st.dictionaries(WORDS, x)))
def test_any_body_can_be_written_down(body: Any) -> None:
    import json

    for sent in (json.dumps(body).encode(), repr(body).encode("utf-8", "replace"), b"[" * LONGEST, b"1" * 5000):
        details(asked(sent), {}, {})


def test_secrets_are_not_written_down() -> None:
    sent = b'{"token": "S3CRET", "deep": [{"password": "S3CRET", "name": "x"}]}'
    assert asked(sent) == {"token": "(secret)", "deep": [{"password": "(secret)", "name": "x"}]}
    assert asked(b"x" * 10) == {"bytes": 10, "sha256": asked(b"x" * 10)["sha256"]}
    assert asked(b"") is None


async def log(controller: Controller, **query: object) -> list[dict[str, Any]]:
    return list(reversed((await controller.get("/audit", limit=1000, **query))["items"]))


async def verified(controller: Controller, **query: object) -> Any:
    return await controller.get("/audit/verification", **query)


async def test_who_did_what(controller: Controller) -> None:
    for number in (1, 2):
        await controller.cloudlet(f"c{number}", number)
    ana = await holder(controller, "ana", "network-engineer")
    assert (await ana.post("/api/v1/vcps", json={"name": "blue"})).status_code == 201
    for number in (1, 2):
        join = await ana.post("/api/v1/vcps/blue/members?dry_run=false", json={"endpoint": f"c{number}-lan"})
        assert join.is_success
    assert (await ana.delete("/api/v1/vcps/blue/members/c1-lan")).status_code == 200
    problem(await ana.post("/api/v1/vcps", json={"name": "blue"}), 409)
    problem(await ana.post("/api/v1/cloudlets", json={}), 403)
    made, one, two, left, again, refused = await log(controller, who="token ana")
    assert (made["method"], made["path"], made["status"]) == ("POST", "/api/v1/vcps", 201)
    assert made["asked"] == {"name": "blue"} and made["before"]["vcps"] == {"blue": None}
    assert made["after"]["vcps"]["blue"]["members"] == []
    assert one["path"] == "/api/v1/vcps/blue/members?dry_run=false" and one["status"] == join.status_code
    assert two["after"]["vcps"] == {"blue": {"members": ["c2-lan"]}}
    assert two["before"]["vcps"] == {"blue": {"members": []}}
    assert two["after"]["generation"] == two["before"]["generation"] + 1
    assert left["before"]["vcps"] == {"blue": {"members": ["c1-lan"]}}
    assert (again["status"], again["before"], refused["status"]) == (409, None, 403)
    whole = await log(controller)
    assert [entry["number"] for entry in whole] == list(range(1, len(whole) + 1))
    assert {"agent:c1", "agent:c2", "admin token"} <= {entry["who"] for entry in whole}
    assert (
        (await log(controller, status=403)) == [refused] == await log(controller, under="/api/v1/cloudlets", status=403)
    )
    first = await controller.get("/audit", limit=2)
    second = await controller.get("/audit", limit=2, cursor=first["next"])
    assert [e["number"] for e in first["items"] + second["items"]] == [len(whole) - n for n in range(4)]
    state = await verified(controller)
    assert state == {"entries": len(whole), "number": len(whole), "seal": whole[-1]["seal"], "flaw": None}


async def test_rows_before_and_after(controller: Controller) -> None:
    await controller.cloudlet("c1", 1)
    await controller.post("/devices", {"name": "m1", "mac": "02:00:5e:00:00:01"})
    kept = await controller.post("/reservations", {"endpoint": "c1-lan", "device": "m1"})
    await controller.delete(f"/reservations/{kept['id']}", 204)
    await controller.delete("/devices/m1", 204)
    device, reserved, freed, gone = (await log(controller))[-4:]
    assert device["after"]["devices"]["m1"]["name"] == "m1" and device["before"] is None
    assert str(kept["id"]) in reserved["after"]["pairs"]
    assert freed["before"]["pairs"][str(kept["id"])]["held_until"] is not None
    assert freed["after"]["pairs"][str(kept["id"])] == {"held_until": None}
    assert (gone["method"], gone["status"]) == ("DELETE", 204)


async def test_what_is_no_change_of_an_operators_is_not_told(controller: Controller) -> None:
    agent = await controller.agent("c1", 1)
    count = len(await log(controller))
    await controller.get("/cloudlets")
    await agent.lease(endpoint="c1-lan", mac="02:00:5e:00:00:01")
    for wrong in ("wrong", "-"):
        nobody = {"Authorization": f"Bearer {wrong}"}
        problem(await controller.http.post("/api/v1/vcps", json={"name": "x"}, headers=nobody), 401)
    assert (await controller.http.post("/api/v1/nothing")).status_code == 404
    key = {"Idempotency-Key": "once"}
    for _ in range(2):
        assert (await controller.http.post("/api/v1/vcps", json={"name": "blue"}, headers=key)).status_code == 201
    assert len(await log(controller)) == count + 1


async def test_secrets_do_not_get_into_the_log(controller: Controller) -> None:
    credential = await controller.cloudlet("c1", 1)
    made = await controller.post("/tokens", {"name": "ana", "role": "viewer"})
    async with controller.region.database.read() as session:
        rows = (await session.execute(text("SELECT details FROM audit"))).scalars().all()
    said = "".join(rows)
    from controller.core.tokens import digest

    for secret in (credential, made["token"]):
        assert secret not in said and digest(secret) not in said
    assert '"token":"(secret)"' in said, "an enrolment's"


async def test_no_entry_says_what_was_not_committed(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = events._write

    async def broken(session: Any) -> None:
        await whole(session)
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(events, "_write", broken)
    problem(await controller.http.post("/api/v1/devices", json={"name": "m1", "mac": "02:00:5e:00:00:01"}), 500)
    monkeypatch.undo()
    (entry,) = await log(controller, under="/api/v1/devices")
    assert (entry["status"], entry["before"], entry["after"]) == (500, None, None)
    assert (await controller.get("/devices"))["items"] == []


TAMPERED = [
    ("UPDATE audit SET who = 'unix socket' WHERE number = 3", 3, "entry 3 is not what was sealed"),
    ("UPDATE audit SET details = '{}' WHERE number = 2", 2, "entry 2 is not what was sealed"),
    ("UPDATE audit SET status = 409 WHERE number = 1", 1, "entry 1 is not what was sealed"),
    ("UPDATE audit SET seal = 'x' WHERE number = 4", 4, "entry 4 is not what was sealed"),
    ("DELETE FROM audit WHERE number = 2", 2, "entry 2 is missing"),
    ("DELETE FROM audit WHERE number < 3", 1, "entry 1 is missing"),
    ("DELETE FROM audit WHERE number > 4", 5, "entry 5 was noted, but the log ends with 4"),
]


async def test_the_database_refuses_tampering(controller: Controller, subtests: pytest.Subtests) -> None:
    for name in "abcde":
        await controller.post("/vcps", {"name": name})
    for change, *_ in TAMPERED:
        with subtests.test(change):
            with pytest.raises(DBAPIError, match="entries of the audit log are neither changed nor taken away"):
                async with controller.region.database.write() as session:
                    await session.execute(text(change))
            assert (await verified(controller))["flaw"] is None


async def lift(database: Database) -> None:
    """Remove the triggers that protect the audit log, as the owner of the table can."""
    sqlite = "DROP TRIGGER audit_kept_update", "DROP TRIGGER audit_kept_delete"
    async with database.write() as session:
        for statement in ("DROP TRIGGER audit_kept ON audit",) if database.shared else sqlite:
            await session.execute(text(statement))


@pytest.mark.parametrize(("change", "number", "reason"), TAMPERED)
async def test_tampering_shows(controller: Controller, change: str, number: int, reason: str) -> None:
    for name in "abcde":
        await controller.post("/vcps", {"name": name})
    noted = await verified(controller)
    assert noted["number"] == 5 and noted["flaw"] is None
    await lift(controller.region.database)
    async with controller.region.database.write() as session:
        await session.execute(text(change))
    found = await verified(controller, number=5, seal=noted["seal"])
    assert found["flaw"] == {"number": number, "reason": reason}


async def test_a_log_that_was_made_anew_shows_by_what_was_noted(controller: Controller) -> None:
    for name in "abc":
        await controller.post("/vcps", {"name": name})
    noted = await verified(controller)
    chain = Chain()
    await lift(controller.region.database)
    async with controller.region.database.write() as session:
        for number in (1, 2, 3):
            await session.execute(text("UPDATE audit SET who = 'nobody'"))
            at = (await log(controller))[number - 1]["at"]
            row = (await session.execute(text(f"SELECT * FROM audit WHERE number = {number}"))).mappings().one()
            entry = AuditEntry(
                number, datetime.fromisoformat(at), "nobody", *(row[k] for k in ("method", "path", "status", "details"))
            )
            given = seal(chain.seal, entry)
            assert chain.follow(entry, given) is None
            await session.execute(text(f"UPDATE audit SET seal = '{given}' WHERE number = {number}"))
    assert (await verified(controller))["flaw"] is None
    found = await verified(controller, number=3, seal=noted["seal"])
    assert found["flaw"] == {"number": 3, "reason": "entry 3 has another seal than the one noted"}


async def test_replicas_do_not_fork_the_chain(start: Start, database_url: str) -> None:
    if database_url.startswith("sqlite"):
        pytest.skip("one controller only")
    async with start(replica="one") as one, start(replica="two") as two:
        await asyncio.gather(
            *(
                c.post("/devices", {"name": f"m{i}-{j}"} | mac(i, j))
                for i, c in enumerate((one, two))
                for j in range(20)
            )
        )
        found = await verified(one)
        assert (found["number"], found["flaw"]) == (40, None)


def mac(i: int, j: int) -> dict[str, str]:
    return {"mac": f"02:00:5e:00:{i:02x}:{j:02x}"}


async def test_what_the_controller_does_by_itself(controller: Controller) -> None:
    """An expired trial has an entry, and nothing has an entry if nothing changes."""
    for number in (1, 2):
        await controller.cloudlet(f"c{number}", number)
    await controller.post("/vcps", {"name": "blue"})
    await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"}, confirm_within=1)
    await eventually(lambda: controller.region.changes.flow.trial is None, seconds=10)
    async with controller.region.database.read() as session:
        found = await audit.page(session, None, 10, "controller")
    assert [(entry.method, entry.status) for entry in found] == [("change", 200)]
    assert "nobody confirmed it in time" in found[0].path
    said = json.loads(found[0].details)
    assert said["before"]["vcps"]["blue"]["members"] == ["c1-lan"] and said["asked"] is None
    await controller.region.changes.flow.make(lambda intent: intent, "nothing")
    async with controller.region.database.read() as session:
        assert len(await audit.page(session, None, 10, "controller")) == 1
    assert (await controller.get("/audit/verification"))["flaw"] is None


async def test_whoever_asked_has_the_entry_not_the_controller(controller: Controller) -> None:
    await controller.cloudlet("c1", 1)
    await controller.post("/vcps", {"name": "blue"})
    found = (await controller.get("/audit"))["items"]
    assert {entry["who"] for entry in found} == {"admin token", "agent:c1"}
