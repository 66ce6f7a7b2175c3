"""The faults, the permitted ends of each, and the errors found afterwards."""

import json
import re
import signal
import sqlite3
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from controller.core.saga.steps import Step
from lab.errors import LabError
from lab.faults import hold, page
from lab.faults.cases import ALL, CHOSEN, CUTS, STEPS, Case, End, Fault, chosen
from lab.faults.census import Census, Host, unneeded, wrong
from lab.faults.harm import kill_qemu
from lab.faults.hold import SHORT, held
from lab.faults.trial import Found, Hit, judge, landed
from lab.measurements import MARK

ENDS = ("c1", "c2")
HERE = Host(condition="running", taps=2)


def test_every_case_has_a_name_of_its_own_and_an_end() -> None:
    names = [case.name for case in ALL]
    assert len(set(names)) == len(names)
    assert all(case.ends for case in ALL)
    assert {case.fault for case in ALL} == set(Fault)


def test_the_suite_has_one_of_each_kind() -> None:
    assert {case.name for case in chosen(*CHOSEN)} == set(CHOSEN)
    assert {case.fault for case in chosen(*CHOSEN)} | set(CUTS) == set(Fault)


def test_every_qemu_is_killed_at_every_step_at_which_there_is_one() -> None:
    assert {case.step for case in chosen("kill-source-qemu@*")} == set(STEPS)
    assert {case.step for case in chosen("kill-destination-qemu@*")} == set(STEPS[STEPS.index(Step.PREPARE) :])


def test_a_qemu_that_is_not_there_was_not_killed(tmp_path: Path) -> None:
    """A QEMU is identified by its pid file and its command line; the killer waits for one that has not started yet."""
    assert not kill_qemu(tmp_path) and not kill_qemu(tmp_path, 0.01)
    argv = ["sh", "-c", 'sleep 0.1; echo $$ > "$0.new"; mv "$0.new" "$0"; read forever', str(tmp_path / "pid")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as qemu:
        assert kill_qemu(tmp_path, 20)
        assert qemu.wait(20) == -signal.SIGKILL
    assert not kill_qemu(tmp_path)


def test_names() -> None:
    assert Case(Fault.CUT_PATH, Step.MEMORY, 30).name == "cut-path-30s@memory"
    assert Case(Fault.CUT_SOURCE, Step.JOIN, inf).name == "cut-source-for-good@join"
    assert Case(Fault.KILL_CONTROLLER, Step.LEAVE).name == "kill-controller@leave"
    assert {case.step for case in chosen("kill-controller@*")} == set(STEPS)


@pytest.mark.parametrize("step", STEPS)
def test_the_vm_dies_only_with_the_qemu_that_runs_it(step: Step) -> None:
    late = STEPS.index(step) - STEPS.index(Step.SWITCHOVER)
    for case in ALL:
        if case.step is step and any(end.lost for end in case.ends):
            assert case.fault is (Fault.KILL_SOURCE_QEMU if late <= 0 else Fault.KILL_DESTINATION_QEMU)


def vm(cloudlet: str, condition: str, move: str | None, address: str) -> dict[str, Any]:
    known = {"cloudlet": cloudlet, "endpoint": f"{cloudlet}-lan", "condition": condition, "move": move}
    return known | {"address": address, "serving": "b"}


def census(state: str = "", here: str = "c1", **changes: Any) -> Census:
    """Return a correct census after a move from c1 to c2 in this state."""
    other = "c2" if here == "c1" else "c1"
    move = {"name": "move-1", "state": state, "step": "normal", "ended_at": "now", "new_address": "10.2.0.3"}
    address = "10.1.0.3" if here == "c1" else "10.2.0.3"
    members = {"c1-lan", "c3-lan"} | ({"c2-lan"} if state == "done" else set())
    hosts, leases = {here: HERE, other: Host()}, ["10.1.0.3", "10.2.0.3"]
    found = Census(hosts, vm(here, "running", None, address), move, frozenset(members), ["c1-lan"], leases)
    return replace(found, **({"inside": {"a": None, "b": address}} | changes))


@pytest.mark.parametrize(("state", "here"), [("done", "c2"), ("undone", "c1")])
def test_nothing_is_wrong(state: str, here: str) -> None:
    assert wrong(census(state, here), census(), ENDS) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"hosts": {"c1": HERE, "c2": HERE}}, "it runs at c1 and c2"),
        ({"hosts": {"c1": Host(), "c2": Host()}}, "runs nowhere"),
        ({"hosts": {"c1": Host(condition="paused", taps=2), "c2": HERE}}, "c1 has a machine v1, paused"),
        ({"hosts": {"c1": Host(taps=2), "c2": HERE}}, "c1 has 2 taps"),
        ({"hosts": {"c1": Host(ports=(49160,)), "c2": HERE}}, "c1 waits for a machine on 49160"),
        ({"hosts": {"c1": Host(endpoints=1), "c2": HERE}}, "c1 has 1 MPTCP endpoints, and had 0"),
        ({"hosts": {"c1": Host(tables=frozenset({"inet x"})), "c2": HERE}}, r"c1 has the tables \['inet x'\]"),
        ({"members": frozenset({"c1-lan", "c2-lan"})}, "the pool has"),
        ({"members": frozenset({"c1-lan", "c2-lan", "c3-lan", "c4-lan"})}, "the pool has"),
        ({"pairs": ["c4-lan"]}, "pairs are reserved at"),
        ({"pairs": ["c1-lan", "c1-lan"]}, "pairs are reserved at"),
        ({"leases": ["10.2.0.3", "10.2.0.3"]}, "an address is leased twice"),
        ({"leases": ["10.1.0.3"]}, r"v1 is known by 10\.2\.0\.3, and leased"),
        ({"inside": {"a": "10.2.0.3", "b": "10.1.0.3"}}, r"v1 is known by 10\.2\.0\.3 at vNIC b, and has"),
        ({"inside": {"a": "10.2.0.3", "b": None}}, r"v1 is known by 10\.2\.0\.3 at vNIC b, and has"),
        ({"vm": vm("c2", "running", "move-1", "10.2.0.3")}, "move-1 is done"),
        ({"vm": vm("c2", "stopped", None, "10.2.0.3")}, "told to be stopped"),
        ({"vm": vm("c1", "running", None, "10.1.0.3")}, "and v1 at c1"),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, Any], says: str) -> None:
    found = wrong(census("done", "c2", **changes), census(), ENDS)
    assert any(re.search(says, one) for one in found), found


def test_an_undone_move_holds_nothing() -> None:
    assert wrong(census("undone", members=frozenset({"c3-lan"})), census(), ENDS)
    undone = census("undone", pairs=["c1-lan", "c2-lan"], members=frozenset({"c1-lan", "c2-lan", "c3-lan"}))
    assert [one.split()[1] for one in wrong(undone, census(), ENDS)] == ["pool", "are"]


def test_a_lan_leaves_the_pool_only_with_the_address_there() -> None:
    members = frozenset({"c2-lan", "c3-lan"})
    assert wrong(census("done", "c2", members=members), census(), ENDS) == []
    kept = census("done", "c2", members=members)
    kept = replace(kept, vm=kept.vm | {"address": "10.1.0.3"}, inside={"a": "10.2.0.3", "b": "10.1.0.3"})
    assert [one.split()[1] for one in wrong(kept, census(), ENDS)] == ["pool"]


def test_an_address_that_nobody_needs_is_found() -> None:
    """The device is at c1, and has an address there; the VM had another address there, and has one at c2 now."""
    before = census(pairs=[], leases=["10.1.0.2", "10.1.0.3"])
    after = census("done", "c2", pairs=["c2-lan"], leases=["10.1.0.2", "10.2.0.3"])
    assert unneeded(after, before) == []
    for changes, says in (
        ({"leases": [*after.leases, "10.1.0.3"]}, "leased are"),
        ({"leases": ["10.2.0.3"]}, "leased are"),
        ({"pairs": ["c1-lan", "c2-lan"]}, "pairs are reserved at"),
        ({"pairs": []}, "pairs are reserved at"),
    ):
        assert [one.partition(" [")[0] for one in unneeded(replace(after, **changes), before)] == [says]


@pytest.mark.parametrize("done", [True, False])
def test_a_case_without_harm_is_not_well(done: bool) -> None:
    counted = census("done", "c2")
    move = counted.move | {"seconds": 9.5, "reason": "", "steps": []}
    found = Found("kill-source-qemu@discard")
    judge(found, chosen(found.case)[0], replace(counted, move=move), census(), ENDS, Hit(1.0, 2.0, done))
    assert found.end == End.DONE
    assert found.wrong == ([] if done else ["no harm was done: what was to be killed did not run"])


def test_where_it_landed() -> None:
    steps = [{"step": name, "began_at": f"2026-01-01T00:00:0{n}+00:00"} for n, name in enumerate(("prepare", "disk"))]
    began = 1767225600.0
    assert [landed(steps, began + at) for at in (-1, 0.5, 1.5)] == ["before", "prepare", "disk"]


def test_the_page_keeps_what_earlier_runs_have_found(tmp_path: Path) -> None:
    output, document = tmp_path / "faults.json", tmp_path / "faults.md"
    document.write_text(f"About.\n\n{MARK}\nold\n")
    one, two = "kill-controller@memory", "kill-controller@reserve"
    page.keep([Found(one, End.DONE, "memory", 9.5, connection="alive"), Found(two, End.UNDONE, "reserve")], output)
    everything = page.keep([Found(two, End.DONE, "prepare", wrong=["it runs twice"])], output)
    page.write(everything, document)
    assert [one["end"] for one in json.loads(output.read_text())] == ["done", "done"]
    text = document.read_text()
    assert text.startswith("About.\n") and "old" not in text
    assert f"| {one} | memory | done | 9.5 | alive | nothing |" in text and "| it runs twice |" in text
    assert "it runs twice |\n\nIn 1 of 2 cases the harm came at another step" in text and text.endswith(" 1).\n")


def test_the_page_says_how_often_the_harm_came_at_another_step() -> None:
    landed = {
        "a@authorise": "before",
        "b@authorise": "before, connect",  # over from beginning to end
        "c@connect": "reserve, prepare",
        "d@reserve": "prepare",
        "e@reserve": "connect, reserve",
        "f@prepare": "abort, prepare",
        "g@memory": "memory",
    }
    told = page.elsewhere([Found(case, landed=at) for case, at in landed.items()]).replace("\n", " ")
    assert told == (
        "In 3 of 7 cases the harm came at another step than asked for: too early in 1 (`authorise` 1 of 2), "
        "too late in 2 (`connect` 1 of 1, `reserve` 1 of 2)."
    )
    twice = Found("two-moves-at-once@authorise", landed="before")
    told = page.elsewhere([Found("f@prepare", landed="prepare"), Found("g@memory", landed="memory"), twice])
    assert told.replace("\n", " ") == (
        "In each of 2 cases the harm came at the step asked for. "
        "`two-moves-at-once` is not counted: its harm is the asking, before any step."
    )


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """The part of the controller's database that holding a move needs, with one waiting move."""
    with closing(sqlite3.connect(tmp_path / "weft.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE moves (name, live, state, step)")
        connection.execute("INSERT INTO moves VALUES ('move-1', 'v1', 'waiting', 'authorise')")
    return tmp_path / "weft.db"


def lead(database: Path) -> list[str]:
    """Advance the move as the controller does: one transaction a step, ten milliseconds after the one before. Returns
    the steps."""
    said = []
    with closing(sqlite3.connect(database, timeout=10, isolation_level=None)) as connection:
        for step in STEPS[: STEPS.index(Step.DISK)]:
            time.sleep(0.01)
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("UPDATE moves SET state = 'moving', step = ?", (step,))
            connection.execute("COMMIT")
            said.append(str(step))
    return said


@pytest.mark.parametrize("step", SHORT)
def test_a_move_stays_at_a_short_step_while_it_is_held(database: Path, step: Step) -> None:
    with ThreadPoolExecutor(1) as pool, closing(sqlite3.connect(database)) as looking:
        leading = pool.submit(lead, database)
        with held(database, "v1", step) as move:
            assert (move.move, move.step) == ("move-1", step)
            time.sleep(0.2)
            assert looking.execute("SELECT state, step FROM moves").fetchone() == ("moving", step)
            assert not leading.done()
        assert leading.result(20) == [*SHORT, "prepare"]


def test_a_move_that_is_beyond_the_step_is_held_where_it_is(database: Path) -> None:
    lead(database)
    with held(database, "v1", Step.CONNECT) as move:
        assert move.step == "prepare"
    found = Found("kill-controller@connect")
    counted = census("done", "c2")
    move_shown = counted.move | {"seconds": 9.5, "reason": "", "steps": []}
    judge(found, chosen(found.case)[0], replace(counted, move=move_shown), census(), ENDS, Hit(1, 2, held=move.step))
    assert found.landed == "prepare"


def test_a_move_that_does_not_come_is_not_waited_for_for_ever(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold, "_LONGEST", 0.05)
    with (
        pytest.raises(LabError, match=r"no move of v1 came to reserve within 0\.05 s"),
        held(database, "v1", Step.RESERVE),
    ):
        raise AssertionError


def test_short_steps_are_the_controllers_own() -> None:
    assert SHORT == (Step.AUTHORISE, Step.CONNECT, Step.RESERVE)
