"""Backup, restoration, downgrade and check of a controller that does not serve: they say what they did, refuse what
would harm, and leave everything as it was when they fail."""

import json
import shutil
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from controller.db.copy import NotCopied
from controller.db.schema import head, reverted
from controller.offline.backup import backup
from controller.offline.check import check
from controller.offline.downgrade import NotDowngraded, down
from controller.offline.restore import restore
from controller.server import pages
from controller.settings import RouteServerSettings, Settings
from controller.trust import ceremony
from controller.wire.checks import Outcome
from tests.unit.controller.conftest import Controller, Start
from tests.unit.controller.fake_routeserver import TOKEN, fake_route_server
from tests.unit.controller.test_main import run
from tests.unit.trust.requests import self_signed

AT = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


async def fill(controller: Controller) -> None:
    await controller.cloudlet("c1", 1)
    await controller.post("/vcps", {"name": "blue"})


async def names(start: Start, url: str) -> list[str]:
    async with start(database_url=url) as controller:
        return [vcp["name"] for vcp in (await controller.get("/vcps"))["items"]]


async def test_a_backup_is_made_and_old_ones_go(start: Start, database_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    async with start() as controller:
        await fill(controller)
        for day in range(4):
            said = await backup(database_url, folder, 2, AT + timedelta(days=day))
    assert sorted(path.name for path in folder.iterdir()) == ["weft-20261202T090000Z.db", "weft-20261203T090000Z.db"]
    assert "weft-20261203T090000Z.db" in said and "1 older files are deleted" in said
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert await names(start, f"sqlite:///{folder}/weft-20261203T090000Z.db") == ["blue"]


async def test_other_files_stay(start: Start, database_url: str, tmp_path: Path) -> None:
    (tmp_path / "weft-notes.db").touch()
    (tmp_path / "weft.db.bak").touch()
    async with start():
        for day in range(3):
            await backup(database_url, tmp_path, 1, AT + timedelta(days=day))
    assert (tmp_path / "weft-notes.db").exists() and (tmp_path / "weft.db.bak").exists()


async def test_a_backup_that_fails_deletes_nothing(start: Start, database_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    async with start():
        await backup(database_url, folder, None, AT)
    with pytest.raises(NotCopied, match="made within this second"):
        await backup(database_url, folder, 1, AT)
    with pytest.raises(NotCopied):
        await backup(f"sqlite:///{tmp_path}/none.db", folder, 1, AT + timedelta(days=1))
    assert [path.name for path in folder.iterdir()] == ["weft-20261130T090000Z.db"]
    (tmp_path / "file").touch()
    with pytest.raises(NotCopied, match="file"):
        await backup(database_url, tmp_path / "file" / "below", 1, AT)


async def test_a_backup_fills_an_empty_database(start: Start, database_url: str, tmp_path: Path) -> None:
    async with start() as controller:
        await fill(controller)
        await backup(database_url, tmp_path / "backups", None, AT)
    [file] = (tmp_path / "backups").iterdir()
    before, empty = file.read_bytes(), f"sqlite:///{tmp_path}/new.db"
    assert "rows of" in await restore(empty, file, False, AT)
    assert await names(start, empty) == ["blue"] and file.read_bytes() == before
    with pytest.raises(NotCopied, match="not empty"):
        await restore(empty, file, False, AT)


async def test_a_database_of_sqlite_is_put_aside(start: Start, database_url: str, tmp_path: Path) -> None:
    async with start() as controller:
        await fill(controller)
        await backup(database_url, tmp_path / "backups", None, AT)
        await controller.post("/vcps", {"name": "green"})
        if database_url.startswith("sqlite"):
            with pytest.raises(NotCopied, match="works on the database: stop it first"):
                await restore(database_url, next((tmp_path / "backups").iterdir()), True, AT)
    [file] = (tmp_path / "backups").iterdir()
    if not database_url.startswith("sqlite"):
        with pytest.raises(NotCopied, match="--replace is for a database of SQLite"):
            await restore(database_url, file, True, AT)
        return
    said = await restore(database_url, file, True, AT)
    aside = tmp_path / "weft.db.before-20261130T090000Z"
    assert str(aside) in said
    assert await names(start, database_url) == ["blue"]
    assert await names(start, f"sqlite:///{aside}") == ["blue", "green"]


async def test_a_restoration_that_fails_leaves_everything_as_it_was(
    start: Start, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No log of the database that failed stays beside the one that comes back."""
    async with start() as controller:
        await fill(controller)
        await backup(database_url, tmp_path / "backups", None, AT)
    [file] = (tmp_path / "backups").iterdir()
    shutil.copyfile(file, tmp_path / "here.db")
    here, elsewhere = tmp_path / "here.db", tmp_path / "new.db"

    async def fails(source: str, to: str) -> str:
        for end in ("", "-wal", "-shm"):
            Path(f"{to.removeprefix('sqlite:///')}{end}").write_text("half of a database")
        raise NotCopied("the disk is full")

    monkeypatch.setattr("controller.offline.restore.copy_database", fails)
    before = here.read_bytes()
    for path, replace in ((here, True), (elsewhere, False)):
        with pytest.raises(NotCopied, match="the disk is full"):
            await restore(f"sqlite:///{path}", file, replace, AT)
    assert here.read_bytes() == before
    left = {path.name for path in tmp_path.iterdir() if path.name.startswith(("here", "new"))}
    assert left == {"here.db"}


async def test_something_else_is_not_restored(database_url: str, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with pytest.raises(NotCopied, match="there is no such file"):
        await restore(database_url, other, False, AT)
    other.write_text("not a database at all, and long enough to look at")
    with pytest.raises(NotCopied, match=r"other\.db: not a backup"):
        await restore(f"sqlite:///{tmp_path}/new.db", other, True, AT)
    with sqlite3.connect(tmp_path / "later.db") as connection:
        connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32))")
        connection.execute("INSERT INTO alembic_version VALUES ('9999')")
    connection.close()
    with pytest.raises(NotCopied, match="later release"):
        await restore(f"sqlite:///{tmp_path}/new.db", tmp_path / "later.db", False, AT)
    assert not (tmp_path / "new.db").exists()


async def test_the_way_back_names_what_is_lost(start: Start, database_url: str) -> None:
    async with start() as controller:
        await fill(controller)
        assert "would go from step" in await down(database_url, "0049", True)
        with pytest.raises(NotDowngraded, match="stop it first"):
            await down(database_url, "0049", False)
    said = await down(database_url, "0049", False)
    assert f"went from step {head()} to 0049" in said and "0050" in said
    assert await down(database_url, "0049", False) == "the database is at step 0049 already"
    assert await names(start, database_url) == ["blue"]


@pytest.mark.parametrize(("to", "reason"), [("9999", "there is no step 9999"), ("9999'; --", "there is no step")])
async def test_only_known_steps_are_gone_back_to(database_url: str, to: str, reason: str) -> None:
    with pytest.raises(NotDowngraded, match=reason):
        await down(database_url, to, False)


def test_every_migration_says_what_its_way_back_loses() -> None:
    latest = head()
    assert latest is not None
    assert [migration.step for migration in reverted(latest, "0048")][-2:] == ["0050", "0049"]


def settings(url: str, **more: object) -> Settings:
    return Settings.model_validate({"database_url": url, **more})


async def outcomes(given: Settings) -> dict[str, tuple[Outcome, str]]:
    return {one.subject: (one.outcome, one.said) for one in await check(given, AT)}


async def test_a_check_looks_at_database_authority_and_files(database_url: str, tmp_path: Path) -> None:
    ceremony.init(tmp_path / "authority", "weft", AT)
    (tmp_path / "secret").write_text("x" * 32)
    (tmp_path / "secret").chmod(0o644)
    secret = {"session_secret_file": tmp_path / "secret", "agent_listen": "127.0.0.1:8443"}
    given = settings(database_url, authority=tmp_path / "authority", **secret)
    found = await outcomes(given)
    assert found["authority"][0] is Outcome.OK and found["database"] == (
        Outcome.OK,
        "all rows refer to rows that exist",
    )
    assert found["WEFT_SESSION_SECRET_FILE"][0] is Outcome.FAILED
    later = {one.subject: one.outcome for one in await check(given, AT + timedelta(days=350))}
    assert later["authority"] is Outcome.WARNING
    ended = {one.subject: one.outcome for one in await check(given, AT + timedelta(days=800))}
    assert ended["authority"] is Outcome.FAILED


async def test_a_check_looks_at_the_web_ui(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "web UI" not in await outcomes(settings(database_url)), "without WEFT_UI_LISTEN there is none"
    certificate, key = tmp_path / "ui.pem", tmp_path / "ui-key.pem"
    given = settings(database_url, ui_listen="127.0.0.1:8444", ui_certificate=certificate, ui_key=key)
    (tmp_path / "index.html").touch()
    monkeypatch.setattr(pages, "PACKAGED", tmp_path)
    assert (await outcomes(given))["web UI"][0] is Outcome.FAILED
    self_signed(certificate, key)
    assert (await outcomes(given))["web UI"][0] is Outcome.OK
    late = {one.subject: one.outcome for one in await check(given, AT + timedelta(days=36_500))}
    assert late["web UI"] is Outcome.FAILED
    certificate.write_bytes(b"\xe4 comment in Latin-1\n" + certificate.read_bytes())
    assert (await outcomes(given))["web UI"][0] is Outcome.OK
    (tmp_path / "index.html").unlink()
    monkeypatch.setattr(pages, "BUILT", tmp_path)
    assert "make ui" in (await outcomes(given))["web UI"][1]


async def test_a_check_asks_route_servers(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    async with fake_route_server("rs1") as server:
        there = RouteServerSettings(name="rs1", address="192.0.2.1", control=server.url)
        away = RouteServerSettings(name="rs2", address="192.0.2.2", control="http://127.0.0.1:1")
        servers = {"route_servers": [there.model_dump(), away.model_dump()]}
        found = await outcomes(settings(database_url, route_server_token_file=tmp_path / "token", **servers))
        assert found["route server rs1"][0] is Outcome.OK and found["route server rs2"][0] is Outcome.FAILED
        (tmp_path / "token").write_text("another")
        found = await outcomes(settings(database_url, route_server_token_file=tmp_path / "token", **servers))
        assert found["route server rs1"][0] is Outcome.FAILED and "token" in found["route server rs1"][1]


async def test_a_check_of_a_database_that_is_away() -> None:
    found = await outcomes(settings("postgresql://weft@/weft?host=/nonexistent"))
    assert found["database"][0] is Outcome.FAILED


@pytest.mark.slow
def test_the_commands_of_the_process(tmp_path: Path, migrated: Path) -> None:
    """Settings come from a file as the package installs it; each mistake is one line."""
    env = tmp_path / "controller.env"
    servers = json.dumps([{"name": "rs1", "address": "192.0.2.1", "control": "http://127.0.0.1:1"}])
    env.write_text(f"# comment\nWEFT_DATABASE_URL=sqlite:///{migrated}\nWEFT_ROUTE_SERVERS={servers}\n")
    given = ("--env-file", str(env))
    done = run(*given, "check", "--output", "json")
    assert done.returncode == 1
    assert {one["subject"] for one in json.loads(done.stdout)} == {"authority", "database", "route server rs1"}
    folder = tmp_path / "backups"
    done = run(*given, "backup", str(folder), "--keep", "1")
    assert done.returncode == 0 and str(folder) in done.stdout, done.stderr
    [file] = folder.iterdir()
    done = run(*given, "restore", str(file), WEFT_DATABASE_URL=f"sqlite:///{tmp_path}/new.db")
    assert done.returncode == 0 and (tmp_path / "new.db").exists(), done.stderr
    done = run(*given, "downgrade", "0049", "--dry-run")
    assert done.returncode == 0 and "would go" in done.stdout
    for words, code, reason in (
        (("--env-file", str(tmp_path / "none"), "check"), 1, "cannot be read"),
        ((*given, "backup", str(folder), "--keep", "0"), 2, "--keep"),
        ((*given, "restore", str(tmp_path / "none.db")), 1, "there is no such file"),
        ((*given, "downgrade", "1"), 1, "there is no step 1"),
    ):
        done = run(*words)
        assert done.returncode == code and reason in done.stderr and "Traceback" not in done.stderr, done.stderr
