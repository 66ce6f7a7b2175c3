"""For any answer of a third party, its door returns a result or raises its one kind of error, with a readable text."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from api import gobgp_pb2

from agents import command
from agents.bgp.frr import daemon
from agents.bgp.frr.daemon import Frr, FrrError
from agents.bgp.gobgp import messages
from agents.command import Ended
from agents.host.chains import dropping, passes
from agents.hypervisors import paths
from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.libvirt.connection import Connection
from agents.hypervisors.qemu import destination, mirror, overlay, processor, qmp_answer, source, transfer
from agents.hypervisors.qemu.monitor import Session
from agents.hypervisors.qemu.vm import Vm
from agents.hypervisors.record import Record
from agents.hypervisors.target import HostPort
from agents.ipsec.charon import Charon, CharonError
from agents.ipsec.connections import PREFIX
from agents.ipsec.drops import drops
from agents.nft import Nft, NftError, nft
from controller.wire.machines import Machine
from tests.tiers import smoke_first
from tests.unit.agents.garbled import DEEP, garbled, garbled_texts


async def ask(call: Callable[[], Awaitable[object]], error: type[Exception]) -> bool:
    """Return whether the call succeeded. Any exception other than `error` with a short text is a defect."""
    try:
        await call()
    except TimeoutError:
        raise
    except Exception as raised:
        assert isinstance(raised, error), ascii(raised)
        assert str(raised).isprintable() and 10 < len(str(raised)) < 800, ascii(raised)
        return False
    return True


# Programs that print JSON.


async def _bases(_: Path) -> object:
    found = await nft.chains()
    return [passes(chain, await nft.objects(chain.family, chain.table), ["lan1"]) for chain in dropping(found)]


_NAMED = {"family": "bridge", "table": "weft", "name": "lan1.spoofed"}
_RULE = {
    "chain": "c0",
    "expr": [
        {"match": {"op": "==", "left": {"meta": {"key": "iifname"}}, "right": {"set": ["a*", {"range": [1, 5000]}]}}},
        {"jump": {"target": "c0"}},
        {"accept": None},
    ],
}
_FORWARD = {"family": "ip", "table": "t", "name": "c0", "hook": "forward", "policy": "drop"}
_ELEMENTS = [{"elem": {"val": "192.0.2.1", "counter": {"packets": 3, "bytes": 100}}}]

PRINTED: dict[str, tuple[Any, Callable[[Path], Awaitable[object]], type[Exception]]] = {
    "bgpd": ({"peers": {"192.0.2.1": {"state": "Established"}}}, lambda at: Frr(at, at / "c").sessions(), FrrError),
    "nft's counters": (
        {"nftables": [{"counter": {**_NAMED, "packets": 1, "bytes": 60}}]}, lambda _: Nft().counters("weft"), NftError,
    ),
    "nft's names": ({"nftables": [{"chain": _NAMED}, {"limit": _NAMED}]}, lambda _: Nft().names("weft"), NftError),
    "nft's chains": ({"nftables": [{"chain": _FORWARD}, {"rule": _RULE}]}, _bases, NftError),
    "nft's drops": ({"nftables": [{"set": {**_NAMED, "name": "came_from", "elem": _ELEMENTS}}]}, lambda _: drops(),
        NftError),
    "ip mptcp": (
        [{"address": "192.0.2.1", "id": 1, "port": 4444}], lambda _: paths.withdraw([HostPort("192.0.2.1", 4444)]),
        HypervisorError,
    ),
    "qemu-img": ({"virtual-size": 1 << 30}, lambda at: overlay.size(at), HypervisorError),
}  # fmt: skip


@pytest.mark.parametrize("name", PRINTED)
async def test_what_a_program_prints(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good, call, error = PRINTED[name]
    said = json.dumps(good)

    async def run(*argv: str, **how: object) -> Ended:
        return Ended(0, said if "delete" not in argv else "", "")

    async def vty(socket: Path, *commands: str) -> str:
        return said

    monkeypatch.setattr(command, "run", run)
    monkeypatch.setattr(daemon, "ask", vty)
    assert await ask(lambda: call(tmp_path), error)
    refused = 0
    for said in garbled_texts(good):  # noqa: B007 - run and vty say it
        refused += not await ask(lambda: call(tmp_path), error)
    assert refused > 20


@pytest.mark.parametrize("word", ["lastrcv:", "lastack:", "unacked:1 lastack:"])
async def test_what_ss_prints(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said = ""

    async def run(*argv: str, **how: object) -> Ended:
        return Ended(0, said, "")

    monkeypatch.setattr(command, "run", run)
    for said in ("", "\0", f"{word}{'9' * 5000}", f"{word}-1", f"{word}x", word * 10_000, DEEP):  # noqa: B007
        for call in (paths.silence, paths.unheard, paths.unanswered):
            assert await call([HostPort("192.0.2.1", 1)]) >= 0


# QEMU's monitor.

STATE = {"status": "running", "running": True}
MIGRATION = {
    "status": "active", "error-desc": "cut", "downtime": 12, "xbzrle-cache": {"pages": 1},
    "ram": {"total": 9, "remaining": 3, "transferred": 7, "page-size": 4096, "dirty-pages-rate": 2,
            "dirty-sync-count": 4, "mbps": 0.5},
}  # fmt: skip
ANSWERS: dict[str, Any] = {
    "query-status": STATE,
    "query-migrate": MIGRATION,
    "query-yank": [{"type": "migration"}, {"type": "block-node", "node-name": "target"}],
    "query-block": [{"device": ""}, {"inserted": {"node-name": "disk"}}],
    "query-block-jobs": [{"device": "mirror", "status": "ready", "ready": True, "offset": 1, "len": 2, "error": ""}],
    "query-dirty-rate": {"status": "measured", "dirty-rate": 7},
    "qom-get guest-stats": {"stats": {"stat-total-memory": 9, "stat-free-memory": 2}},
    "query-cpus-fast": [{"qom-path": "/machine/cpu", "thread-id": 7}],
    "qom-get vendor": "GenuineIntel",
    "qom-get unavailable-features": ["avx512f"],
    "query-cpu-model-expansion": {"model": {"name": "max", "props": {"sse2": True, "min-level": 7}}},
    "query-cpu-definitions": [
        {"name": "EPYC", "alias-of": "EPYC-v1", "migration-safe": True, "unavailable-features": ["npt"]}
    ],
}
GREETING = {"QMP": {"version": {"qemu": {"major": 10, "minor": 0, "micro": 2}, "package": ""}, "capabilities": []}}


def test_what_is_asked_of_qemu_is_described() -> None:
    """This includes the queries of the lab and its tests: an answer without a description reads as None."""
    root, asked = Path(__file__).parents[3], set[str]()
    for path in (path for folder in ("agents", "lab", "tests/integration") for path in (root / folder).rglob("*.py")):
        asked |= set(re.findall(r'execute\("((?:x-)?query-[a-z-]+)"', path.read_text()))
    assert asked and asked <= set(qmp_answer._FORMS)


@dataclass
class Qemu:
    """A monitor that answers one command with a chosen text, and all others correctly."""

    command: str = ""
    text: str | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(json.dumps(GREETING).encode() + b"\n")
            while line := await reader.read(4096):  # each client waits for its answer
                asked = json.loads(line)
                name = asked.get("execute") or asked["exec-oob"]
                if name == "qom-get":
                    name = f"{name} {asked['arguments']['property']}"
                number = {"id": asked["id"]} if "id" in asked else {}
                answer = json.dumps({"return": ANSWERS.get(name, {}), **number})
                if name == self.command and self.text is not None:
                    answer = self.text.replace("ID", json.dumps(asked["id"]))
                writer.write(answer.encode(errors="replace") + b"\n")
                await writer.drain()
        except (OSError, EOFError, ValueError):
            pass
        finally:
            writer.transport.abort()


@dataclass
class Answering:
    """A stand-in for the library's client, which gives prepared answers."""

    command: str = ""
    found: Any = None

    async def execute(self, command: str, arguments: dict[str, Any] | None = None, oob: bool = False) -> Any:
        name = f"{command} {arguments['property']}" if command == "qom-get" and arguments else command
        return self.found if name == self.command else ANSWERS.get(name, {})


async def _state(session: Session) -> object:
    state, info = await source.status(session)
    return state, transfer.figures(info, 1.0, 1.0, 1), await source._run_state(session)


READS: dict[str, Callable[[Session], Awaitable[object]]] = {
    "state": _state,
    "arrived": destination.arrived,
    "job": mirror.job,
    "node": mirror.node,
    "yank": lambda session: session.yank(),
    "ended": lambda session: source._ended(session, 0.01),
    "features": lambda session: processor.features(session, "max"),
    "models": lambda session: processor.models(session, "max"),
}


@pytest.mark.parametrize("command", smoke_first(4, ANSWERS))
async def test_what_qemu_answers(command: str, tmp_path: Path) -> None:
    vm = Vm(tmp_path / "vm1")
    for found in garbled(ANSWERS[command]):
        session = Session(Answering(command, found), "vm1", lambda: None)  # type: ignore[arg-type]
        for read in (*READS.values(), vm._measure):
            with suppress(TimeoutError):  # the transfer goes on
                await ask(partial(read, session), HypervisorError)


@pytest.mark.parametrize(
    "text",
    [
        *("null", "7", "[]", '"x"', "{}", '{"return": {"status"', '{"return": 7}', '{"id": ID}', "9" * 5000, DEEP),
        '{"return": {"status": DEEP, "id": ID}'.replace("DEEP", DEEP),
        '{"return": {"status": null}, "id": ID}',
        '{"return": {"status": DEEP}, "id": ID}'.replace("DEEP", "[" * 400 + "]" * 400),
        '{"error": null, "id": ID}',
        '{"error": "x", "id": ID}',
        '{"error": {}, "id": ID}',
        '{"error": {"class": 7, "desc": []}, "id": ID}',
        '{"error": {"class": "GenericError", "desc": "\\u001b[2JLONG"}, "id": ID}'.replace("LONG", "x" * 5000),
        '{"return": {"status": "running"}, "id": "another"}',
        '{"event": 7}',
        "\udcff",
    ],
    ids=lambda text: ascii(text[:40]),
)
async def test_what_qemu_answers_on_its_monitor(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a readable answer, a VM is `unresponsive`: neither running nor gone."""
    look, refused = "agents.hypervisors.qemu.vm._LOOK", "GenericError" in text  # a QEMU that refuses works
    monkeypatch.setattr(look, 10.0)
    monkeypatch.setattr(Vm, "runs", lambda _: True)
    machine = Machine(name="vm1", driver="qemu", image="lab", memory=1 << 24, macs=("02:00:00:00:00:0a",) * 2)
    vm, qemu = Vm(tmp_path / "vm1"), Qemu()
    vm.save(Record(machine=machine, bridge="lan1", mtu=1400, serving="a", links={"a": True}))
    async with await asyncio.start_unix_server(qemu.serve, vm.folder / "monitor", limit=1 << 20):
        assert (await vm.seen()).condition == "running"
        qemu.command, qemu.text = "query-status", text
        vm.monitor._heard = -1e9  # a long time ago
        async with vm.monitor.session() as session:
            assert not await ask(partial(session.execute, "query-status", seconds=0.3), HypervisorError)
        vm.monitor._heard = -1e9  # an unreadable answer is an answer too
        monkeypatch.setattr(look, 10.0 if refused else 0.3)
        seen = await vm.seen()
        assert seen.condition == ("running" if refused else "unresponsive"), seen
        assert seen.detail.isprintable() and seen.detail
        qemu.text = None
        monkeypatch.setattr(look, 10.0)
        assert (await vm.seen()).condition == "running"


# Daemons with libraries of their own.

_CHILD = {"state": b"INSTALLED", "uniqueid": b"7", "encr-alg": b"AES", "bytes-in": b"1", "install-time": b"9"}
IKE = {"state": b"ESTABLISHED", "established": b"3", "child-sas": {"vxlan-1": _CHILD}}


async def test_what_charon_says_of_its_associations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: Any = IKE

    @contextmanager
    def session(_: Charon) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(list_sas=lambda: [{f"{PREFIX}c2": found}], list_conns=lambda: [found])

    monkeypatch.setattr(Charon, "_session", session)
    charon, refused = Charon(tmp_path / "vici"), 0
    assert (await charon.associations())[f"{PREFIX}c2"].up
    for found in (*garbled(IKE), {**IKE, "established": b"9" * 5000}):  # noqa: B007 - the session says it
        refused += not await ask(charon.associations, CharonError)
        await ask(charon.connections, CharonError)
    assert refused > 20


@pytest.mark.parametrize(
    "said", ["", "<", "<capabilities>", "<a>&x;</a>", "\0", None, 7, "<a>" * 10_000, "<a/>" * 2, "<domain/>"]
)
async def test_what_libvirt_describes(said: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = SimpleNamespace(XMLDesc=lambda: said, updateDeviceFlags=lambda *_: None)
    opened = SimpleNamespace(
        getCapabilities=lambda: said,
        getLibVersion=lambda: said,
        lookupByUUIDString=lambda _: domain,
        close=lambda: None,
    )
    monkeypatch.setattr("agents.hypervisors.libvirt.connection.libvirt.open", lambda _: opened)
    door = Connection("test:///")
    await ask(door.confinements, HypervisorError)
    assert not await ask(partial(door.connect, "uuid", "02:00:00:00:00:0a", True), HypervisorError)


def test_what_gobgpd_says_of_a_session() -> None:
    peer = gobgp_pb2.Peer()
    for number in (0, 6, 7, 99, 2**31 - 1):
        peer.state.session_state = number
        assert messages.state(peer).isprintable()
    for path in (gobgp_pb2.Path(), gobgp_pb2.Path(pattrs=[{}, {"mp_reach": {}}, {"extended_communities": {}}])):
        assert messages.announcement(path).next_hop == ""
