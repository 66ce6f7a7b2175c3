"""The places in the code that record events, and the types that they use."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from controller.agents.images import _SAID as IMAGES
from controller.agents.impostors import EVENTS as IMPOSTORS
from controller.agents.tunnels import EVENTS as TUNNELS
from controller.core.saga import Phase, Step
from controller.db.vms import STARTING, STOPPING
from controller.wire.machines import Condition
from tests.house.imports import ROOT, go_files

RECORDS = {"add": 1, "note": 0, "PendingEvent": 0, "News": 0}
"""The callables that take an event's type, and where among their arguments it is."""

OF = {"add": ("events",), "note": ("event_log", "_event_log")}
"""The names of the objects or modules whose methods these are; others of the same name are something else."""

LOG = "controller/runtime/event_log.py"
"""The file of the event log, which records events of its own."""

KEYWORDS = {"caused_by", "origin", "source"}
"""Arguments of theirs that are no data."""

ENDS = {phase for phase in Phase if phase.over}

LISTED = {"controller/leases/accounting.py": {"lease-clash", "lease-granted", "lease-released"}}
"""The types of files that record lists of events (`add_all`)."""

NOUNS = ("policy", "inventory")
"""The texts that drift is looked for from."""

COMPUTED = {
    "controller/agents/images.py": {kind for kind, _ in IMAGES.values()},
    "controller/agents/impostors.py": {kind for kind, _ in IMPOSTORS.values()},
    "controller/agents/neighbours.py": {"neighbour-possible", "neighbour-lost"},
    "controller/agents/tunnels.py": set(TUNNELS.values()),
    "controller/api/applying.py": {"consent-counted", "consent-awaited"},
    "controller/api/cloudlets.py": {f"cloudlet-{done}" for done in ("approved", "drained", "removed")},
    "controller/api/consents.py": {f"consent-{done}" for done in ("given", "withdrawn")},
    "controller/api/members.py": {f"member-{done}" for done in ("joined", "left")},
    "controller/changes/drift_watch.py": {f"{noun}-{is_}" for noun in NOUNS for is_ in ("drift", "drift-ended")},
    "controller/inventory/cloudlets.py": {f"cloudlet-{done}" for done in ("described", "changed")},
    "controller/leases/leases.py": {f"lease-{how}" for how in ("granted", "released", "expired")},
    "controller/migration/machine_reports.py": {
        *(f"vm-not-{done}" for done in ("started", "stopped")),
        *(f"vm-{condition}" for condition in get_args(Condition)),
    },
    "controller/migration/move_schedule.py": {f"move-{state}" for state in ("missed", "refused")},
    "controller/migration/transitions.py": {f"move-{word}" for word in {*Step, *ENDS}},
    "controller/migration/vms.py": {f"vm-{condition}" for condition in (STARTING, STOPPING)},
    "controller/webhooks/sender.py": {"webhook-paused"},
    "controller/webhooks/webhooks.py": {f"webhook-{done}" for done in ("paused", "resumed", "changed")},
}
"""The types that a file computes, as its own tables and calls give them."""

PASSED_ON = {"controller/api/agents.py", LOG}
"""Files that record events whose types other files name."""


@dataclass(frozen=True)
class Recorded:
    """A call that records an event. `type` is None if the file computes it; `data` are the keys that it names."""

    file: str
    line: int
    type: str | None
    data: frozenset[str]


def recorded() -> Iterator[Recorded]:
    """Yield all calls of the controller that record events."""
    for path in sorted((ROOT / "controller").rglob("*.py")):
        yield from calls(path.relative_to(ROOT).as_posix(), ast.parse(path.read_text()))


def calls(file: str, tree: ast.Module) -> Iterator[Recorded]:
    """Yield the calls of a module that record events."""
    constants = dict(_constants(tree))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or (name := _recording(node, own=file == LOG)) is None:
            continue
        said = node.args[RECORDS[name]]
        kind = constants.get(said.id) if isinstance(said, ast.Name) else getattr(said, "value", None)
        data = frozenset(word.arg for word in node.keywords if word.arg and word.arg not in KEYWORDS)
        yield Recorded(file, node.lineno, kind if isinstance(kind, str) else None, data if name in OF else frozenset())


def _recording(call: ast.Call, *, own: bool) -> str | None:
    """Return the name of the called callable if it records an event; `own`: in the event log's class."""
    match call.func:
        case ast.Name(id=name) if name in RECORDS and name not in OF:
            return name
        case ast.Attribute(attr=name, value=ast.Name(id=of) | ast.Attribute(attr=of)) if of in OF.get(name, ()):
            return name
        case ast.Attribute(attr="note", value=ast.Name(id="self")) if own:
            return "note"
    return None


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the module's constants that are texts; HELD, which two modules share, is one of them."""
    yield "HELD", "events-held"
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                yield name, text
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                for one, value in zip(names, values, strict=True):
                    if isinstance(one, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, str):
                        yield one.id, value.value


def seen_by_route_servers() -> set[str]:
    """Return the kinds of events in the route server's log, but for the one that the controller leaves out."""
    folder = ROOT / "routeserver"
    texts = (path.read_text() for path in go_files() if folder in path.parents and not path.name.endswith("_test.go"))
    pattern = re.compile(r'Events\.(?:Add|AddOften|addAfter)\((?:\w+, )?"([a-z-]+)"')
    return {kind for text in texts for kind in pattern.findall(text)} - {"generation"}
