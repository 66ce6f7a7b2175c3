"""Rows that somebody has deleted by hand: the controller names the rows that refer to them and the repair, and the
repair keeps those rows."""

import json
import re
import sqlite3
from pathlib import Path

import pytest

from controller.db.dangling import NotMended, mend
from tests.tiers import smoke_first
from tests.unit.controller.conftest import Controller, Start
from tests.unit.controller.test_main import run


@pytest.fixture
async def file(start: Start, tmp_path: Path, database_url: str) -> Path:
    """The database of a stopped controller, with two cloudlets, a pool of their LANs, a device and its lease."""
    if not database_url.startswith("sqlite"):
        pytest.skip("PostgreSQL refuses to delete what others refer to")
    async with start() as controller:
        await fill(controller)
    return Path(database_url.partition(":///")[2])


async def fill(controller: Controller) -> None:
    for number in (1, 2):
        await controller.cloudlet(f"c{number}", number)
    await controller.post("/vcps", {"name": "blue"})
    for number in (1, 2):
        await controller.post("/vcps/blue/members", {"endpoint": f"c{number}-lan"})
    await controller.post("/devices", {"name": "ana", "mac": "02:00:5e:00:00:01"})
    await controller.post("/leases", {"endpoint": "c1-lan", "device": "ana", "kind": "md"})


def by_hand(file: Path, *statements: str) -> None:
    with sqlite3.connect(file) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def counted(file: Path, table: str) -> int:
    connection = sqlite3.connect(file)
    (number,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    connection.close()
    return int(number)


def test_what_is_whole_needs_no_mending(file: Path) -> None:
    done = run("mend", WEFT_DATABASE_URL=f"sqlite:///{file}")
    assert (done.returncode, done.stdout) == (0, "weft-controller: no row refers to a row that does not exist\n")


@pytest.mark.parametrize(
    ("table", "child"), smoke_first(1, [("devices", "leases"), ("endpoints", "members"), ("vcps", "members")])
)
def test_it_is_named_at_the_start_and_by_the_command(file: Path, table: str, child: str) -> None:
    by_hand(file, f"DELETE FROM {table}")
    started = run(WEFT_DATABASE_URL=f"sqlite:///{file}", WEFT_LISTEN="127.0.0.1:0")
    named = run("mend", WEFT_DATABASE_URL=f"sqlite:///{file}")
    for done in (started, named):
        assert done.returncode == 1 and "Traceback" not in done.stderr and "refer to" in done.stderr
    assert f"of {child} to {table}" in started.stderr and "run `weft-controller mend`" in started.stderr
    assert re.search(rf"\n  {child} \w+ .*: there is no row of {table} for its ", named.stderr), named.stderr
    assert "--delete FILE takes them out" in named.stderr


def test_what_goes_is_written_down_first_and_the_controller_starts_again(file: Path, tmp_path: Path) -> None:
    by_hand(file, "DELETE FROM endpoints WHERE name = 'c1-lan'")
    away, url = tmp_path / "away.json", f"sqlite:///{file}"
    done = run("mend", "--delete", str(away), WEFT_DATABASE_URL=url)
    assert done.returncode == 0, done.stderr
    rows = json.loads(away.read_text())
    assert {"members", "leases", "pairs"} <= {row["table"] for row in rows}
    assert f"{len(rows)} rows that referred to rows that do not exist are in {away}, and deleted" in done.stdout
    assert (counted(file, "members"), counted(file, "leases"), counted(file, "devices")) == (1, 0, 1)
    assert run("mend", WEFT_DATABASE_URL=url).returncode == 0


def test_nothing_is_deleted_that_cannot_be_written_down(file: Path, tmp_path: Path) -> None:
    by_hand(file, "DELETE FROM devices")
    before = counted(file, "leases")
    there = tmp_path / "there.json"
    there.write_text("mine")
    for away in (there, tmp_path / "no" / "folder.json"):
        done = run("mend", "--delete", str(away), WEFT_DATABASE_URL=f"sqlite:///{file}")
        assert done.returncode == 1 and "nothing was deleted" in done.stderr and "Traceback" not in done.stderr
    assert counted(file, "leases") == before > 0 and there.read_text() == "mine"


async def test_both_databases_can_be_asked(controller: Controller, database_url: str) -> None:
    await fill(controller)
    assert await mend(database_url, None) == "no row refers to a row that does not exist"


async def test_a_database_of_another_release_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(NotMended, match="start its controller first"):
        await mend(f"sqlite:///{tmp_path}/new.db", None)
