"""One case: a move begins, the fault comes at its step, and the result is checked when the move is over and the fault
undone."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

import httpx

from controller.core.saga.steps import FORWARD, Step, before
from controller.migration.machine_reports import NEWS
from lab.errors import LabError
from lab.faults import census
from lab.faults.bed import DATABASE, Bed
from lab.faults.cases import Case, End, Fault
from lab.faults.harm import Harm
from lab.faults.hold import SHORT, held
from lab.faults.sentry import Sentry
from lab.rest import Json
from lab.work import Stream

LONGEST = 780.0
"""Seconds for a move to end: the controller waits 600 s for a destination that may run the VM."""

_NEXT_LOOK = 1.0
"""Seconds until the agents have checked their machines again."""
_NEXT_WORD = NEWS.total_seconds() + 1
"""Seconds until the controller has recorded the agents' reports, also about a machine that has not changed."""


@dataclass
class Found:
    """The result of a case. `landed` is the step at which the fault was done, by the controller's own record; `seconds`
    is how long the move took. `wrong` says in sentences what is wrong; it is empty if all is well."""

    case: str
    end: str = ""
    landed: str = ""
    seconds: float = 0.0
    reason: str = ""
    connection: str = ""
    steps: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Hit:
    """The time of the harm, from and to (Unix time); whether it was `done`, which needs something to do it to; and the
    step at which the move was `held` meanwhile, if it was."""

    began: float
    ended: float
    done: bool = True
    held: Step | None = None


def put(bed: Bed, case: Case) -> Found:
    """Run one case. Raises LabError if the region cannot be made ready for it."""
    bed.settle()
    bed.prepare(heavy=case.fault is Fault.DEVICE_WALKS and case.step is Step.MEMORY)
    source, destination = bed.ends()
    harm = Harm(bed.region, case, source, destination)
    harm.prepare()
    was = census.take(bed.region, bed.rest)
    stream = bed.stream()
    found = Found(case.name)
    try:
        with Sentry([census.folder(name) for name in (source, destination)]) as sentry:
            name, hit = _hit(bed, case, harm, f"{destination}-lan", found)
            _wait_for_the_end(bed, harm, name, hit.ended)
            if harm.at_the_end:
                harm.take_back()
            try:
                bed.settle(200)
            except LabError as error:
                found.wrong.append(str(error))
            time.sleep(_NEXT_WORD if _kept(bed, name) else _NEXT_LOOK)
        counted = census.take(bed.region, bed.rest, name)
        judge(found, case, counted, was, (source, destination), hit)
        if sentry.twice:
            found.wrong.append(f"CPUs of two QEMUs worked at {sentry.twice} looks")
        if not End(found.end).lost:
            found.wrong += bed.checked()
    finally:
        if found.end and not End(found.end).lost:
            found.connection = _verdict(stream)
        stream.kill()
    if case.keeps_connections and not End(found.end).lost and found.connection != "alive":
        found.wrong.append(f"the device's connection: {found.connection}")
    return found


def _begun(bed: Bed, case: Case, endpoint: str, found: Found) -> str:
    """Begin the move, and return its name."""
    body = {"vm": census.VM, "endpoint": endpoint, "linger": 0}
    if case.fault is not Fault.TWICE:
        return str(bed.rest.post("/moves", body)["name"])
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(bed.rest.http.post, "/api/v1/moves", json=body) for _ in range(2)]
        answers = [one.result() for one in asked]
    made = [answer.json()["name"] for answer in answers if answer.status_code == 201]
    refused = [answer.json().get("detail", "") for answer in answers if answer.status_code == 409]
    if len(made) != 1 or len(refused) != 1 or "is being moved already" not in refused[0]:
        found.wrong.append(f"asked twice at once: {[(one.status_code, one.text[:200]) for one in answers]}")
    return str(made[0])


def _hit(bed: Bed, case: Case, harm: Harm, endpoint: str, found: Found) -> tuple[str, Hit]:
    """Do the harm, and return the move's name and the harm's time. At a short step the harm comes before the controller
    has answered."""
    if case.step not in SHORT or case.fault is Fault.TWICE:
        name = _begun(bed, case, endpoint, found)
        if case.fault is not Fault.TWICE:
            with suppress(httpx.HTTPError):
                _reach(bed, name, case.step)
        return name, _done(harm)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(_begun, bed, case, endpoint, found)
        with held(DATABASE, census.VM, case.step) as move:
            hit = _done(harm, move.step)
        if case.fault is not Fault.KILL_CONTROLLER:  # a killed controller may have died before it answered
            asked.result()
    return move.move, hit


def _done(harm: Harm, held_at: Step | None = None) -> Hit:
    began = time.time()
    done = harm.do()
    return Hit(began, time.time(), done, held_at)


def _reach(bed: Bed, name: str, step: Step) -> None:
    """Return when the move is at that step, or beyond it."""
    headers = {"Accept": "text/event-stream"}
    with bed.rest.http.stream("GET", f"/api/v1/moves/{name}", headers=headers, timeout=LONGEST) as answer:
        for line in answer.iter_lines():
            if line.startswith("data:") and _there(json.loads(line[5:]), step):
                return


def _there(move: Json, step: Step) -> bool:
    """Return whether a move is at that step, or beyond it."""
    if move["ended_at"] is not None or move["step"] not in FORWARD:
        return True
    return move["state"] == "moving" and not before(Step(move["step"]), step)


def _wait_for_the_end(bed: Bed, harm: Harm, name: str, done_at: float) -> None:
    """Return when the move is over. Harm that is to end earlier is undone meanwhile."""
    taken_back = harm.at_the_end
    while True:
        if not taken_back and time.time() >= done_at + harm.lasts:
            harm.take_back()
            taken_back = True
        with suppress(LabError):
            move = bed.rest.get(f"/moves/{name}")
            if move["ended_at"] is not None and taken_back:
                return
        if time.time() > done_at + LONGEST:
            raise LabError(f"{name} has not ended {LONGEST:g} s after the fault")
        time.sleep(0.1)


def _kept(bed: Bed, name: str) -> bool:
    """Return whether the VM went on under its old address, which has to stay so."""
    move = bed.rest.get(f"/moves/{name}")
    return bool(move["state"] == "done" and move["new_address"] != bed.vm["address"])


def judge(
    found: Found, case: Case, counted: census.Census, was: census.Census, ends: tuple[str, str], hit: Hit
) -> None:
    """Set in `found` how the move ended, where it was hit, and what is wrong."""
    move = counted.move
    lost = counted.vm["condition"] != "running"
    kept = counted.move["new_address"] != counted.vm["address"]
    if counted.move["state"] == "done":
        found.end = End.DONE_LOST if lost else End.KEPT if kept else End.DONE
    else:
        found.end = End.UNDONE_LOST if lost else End.UNDONE
    found.seconds, found.reason = round(move["seconds"], 1), move["reason"]
    found.landed = hit.held or _between(counted.move["steps"], hit)
    found.steps = [_line(step) for step in counted.move["steps"]]
    found.wrong += census.wrong(counted, was, ends)
    if not hit.done:
        found.wrong.append("no harm was done: what was to be killed did not run")
    if found.end not in case.ends:
        found.wrong.append(f"it ended as {found.end}: {move['reason']}")


def _between(steps: list[Json], hit: Hit) -> str:
    return ", ".join(dict.fromkeys(landed(steps, at) for at in (hit.began, hit.ended)))


def landed(steps: list[Json], at: float) -> str:
    """Return the step that was under way at a time, or else the last one before."""
    name = "before"
    for step in steps:
        if datetime.fromisoformat(step["began_at"]).timestamp() <= at:
            name = step["step"]
    return name


def _line(step: Json) -> str:
    undoing = "undo: " if step["undoing"] else ""
    return f"{undoing}{step['step']} {step['state']} {step['seconds'] or 0:.1f} s {step['detail']}".strip()


def _verdict(stream: Stream) -> str:
    try:
        verdict = stream.verdict()
    except LabError as error:
        return str(error)
    if verdict.intact and verdict.mptcp:
        return "alive"
    return verdict.error or f"not intact: {verdict}"
