"""Keeps one gobgpd configured as intended and its VPLS table at hand.

It is event-driven: one stream gives the sessions, the whole table at once, and then every change of a best path. Two
route servers give two paths of one NLRI; its best path goes only when the last one has gone.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import grpc.aio
from api import gobgp_pb2 as gobgp
from api.gobgp_pb2_grpc import GoBgpServiceStub

from agents.bgp.gobgp import messages
from agents.kernel.vpls import Announcement, LabelBlock
from controller.wire.desired import Speaker

log = logging.getLogger(__name__)

HOLD = 30.0
"""Seconds for which pseudowires are kept although gobgpd's table is not complete."""

_SETTLE = 5.0  # seconds after which an established session counts as complete without an End-of-RIB marker
_RETRY = 0.5  # seconds between attempts to reach gobgpd
_RESTART = "restart it (systemctl restart weft-gobgpd)"  # StopBgp of gobgp 4 is final: StartBgp fails after it
_CHANNEL = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 1000)]


@dataclass(frozen=True, slots=True)
class SpeakerIntent:
    """The desired speaker: its own numbers, its route servers, its announcements. `local` is the VTEP. `passwords`, by
    address, sign the sessions, and route servers are at most `hops` away."""

    asn: int
    router_id: str
    local: str
    speakers: tuple[Speaker, ...]
    announcements: frozenset[Announcement]
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)
    hops: int | None = None


class Gobgp:
    """One gobgpd. `run()` keeps it as intended until it is cancelled, and calls `changed` after each change of its
    state. `sessions` has each route server's session state by its address, and `signed` the passwords of the configured
    sessions; both mean nothing before the first look at gobgpd (`looked`). `problem` is a sentence while gobgpd does
    not work as it should."""

    def __init__(self, target: str, changed: Callable[[], None]) -> None:
        self.sessions: dict[str, str] = {}
        self.signed: dict[str, str] = {}
        self.looked = False
        self.problem: str | None = f"gobgpd at {target} has not been reached yet"
        self._target = target
        self._changed = changed
        self._intent: SpeakerIntent | None = None
        self._work = asyncio.Event()
        self._own: dict[LabelBlock, Announcement] = {}
        self._learned: dict[LabelBlock, Announcement] = {}
        self._ended: set[str] = set()  # addresses of route servers that have sent their whole table
        self._synced = False
        self._hold_until = 0.0
        self._identifier = ""

    @property
    def table(self) -> tuple[Announcement, ...]:
        """Every VPLS route that the speaker has, including its own."""
        return (*self._own.values(), *self._learned.values())

    @property
    def complete(self) -> bool:
        """Whether the table counts as complete, or the speaker has waited for it long enough (HOLD)."""
        if asyncio.get_running_loop().time() >= self._hold_until:
            return True
        if not self._synced or self._intent is None:
            return False
        established = {address for address, state in self.sessions.items() if state == "established"}
        return not self._intent.speakers or bool(established & self._ended)

    @property
    def intended(self) -> bool:
        """Whether this cloudlet has ever needed gobgpd."""
        return self._intent is not None

    def intend(self, intent: SpeakerIntent) -> None:
        """Set the desired speaker; it takes effect soon."""
        if intent != self._intent:
            self._intent = intent
            self._work.set()

    async def run(self) -> None:
        """Connect, configure and watch, again and again."""
        self._hold()
        while True:
            await self._work.wait()
            try:
                async with grpc.aio.insecure_channel(self._target, options=_CHANNEL) as channel:
                    await self._session(GoBgpServiceStub(channel))
            except grpc.aio.AioRpcError as error:
                self._note(f"gobgpd at {self._target}: {error.details() or error.code().name}")
            if self._synced:
                self._hold()
            self._synced, self.looked = False, True
            self.sessions, self.signed = {}, {}
            self._ended.clear()
            self._work.set()
            self._changed()
            await asyncio.sleep(_RETRY)

    def _note(self, problem: str) -> None:
        if problem != self.problem:
            log.warning("%s", problem)
        self.problem = problem

    def _former(self, intent: SpeakerIntent) -> str | None:
        """Return the problem that the speaker has a former BGP identifier, if so. It works with that; another cloudlet
        that gets the identifier with its VTEP would ignore its routes (RFC 4456, section 8: ORIGINATOR_ID)."""
        if self._identifier == intent.router_id:
            return None
        former = f"the BGP identifier {self._identifier}, not {intent.router_id}"
        return f"gobgpd at {self._target} has {former}; {_RESTART}"

    def _hold(self) -> None:
        loop = asyncio.get_running_loop()
        self._hold_until = loop.time() + HOLD
        loop.call_at(self._hold_until, self._changed)

    async def _session(self, stub: GoBgpServiceStub) -> None:
        intent = self._intent
        assert intent is not None  # set before _work
        running = await _started(stub, intent)
        if running.asn != intent.asn:
            self._note(f"gobgpd at {self._target} has the AS number {running.asn}, not {intent.asn}; {_RESTART}")
            return
        self._identifier = running.router_id
        watch = stub.WatchEvent(messages.everything())
        configuring: asyncio.Task[None] | None = None
        try:
            async for event in watch:
                if event.HasField("peer"):
                    self._peer(event.peer.peer)
                    continue
                self._paths(event.table.paths)
                if configuring is None:
                    log.info("gobgpd at %s: %d routes of others in its table", self._target, len(self._learned))
                    self._synced, self.looked, self.problem = True, True, self._former(intent)
                    configuring = asyncio.create_task(self._configure(stub, intent))
                    configuring.add_done_callback(lambda _: watch.cancel())
                self._changed()
        except asyncio.CancelledError:
            if configuring is None or not configuring.done():
                raise
        finally:
            if configuring is not None:
                configuring.cancel()
                with suppress(asyncio.CancelledError):
                    await configuring

    # Events of gobgpd.

    def _peer(self, peer: gobgp.Peer) -> None:
        address, state = peer.state.neighbor_address, messages.state(peer)
        if self._intent is None or address not in {s.address for s in self._intent.speakers}:
            return  # the end of the initial list comes as a peer without an address
        if state != self.sessions.get(address):
            log.info("route server %s: session %s", address, state)
        self.sessions[address] = state
        if state == "established":
            asyncio.get_running_loop().call_later(_SETTLE, self._settled, address)
        else:
            self._ended.discard(address)
        self._changed()

    def _settled(self, address: str) -> None:
        if self.sessions.get(address) == "established" and address not in self._ended:
            self._ended.add(address)
            self._changed()

    def _paths(self, paths: Sequence[gobgp.Path]) -> None:
        if not self._synced:
            self._own, self._learned = {}, {}
        for path in paths:
            if path.family != messages.VPLS:
                continue
            if not path.HasField("nlri"):
                self._ended.add(path.neighbor_ip)
                continue
            block = messages.block(path)
            for table in (self._own, self._learned):
                table.pop(block, None)
            if not path.is_withdraw:
                table = self._learned if path.neighbor_ip else self._own
                table[block] = messages.announcement(path)

    # Configuration of gobgpd.

    async def _configure(self, stub: GoBgpServiceStub, started: SpeakerIntent) -> None:
        """Configure peers and routes after each change. Return when the AS number is another."""
        while True:
            self._work.clear()
            intent = self._intent
            if intent is None or intent.asn != started.asn:
                return
            self.problem = self._former(intent)
            await self._peers(stub, intent)
            wanted = {a.block: a for a in intent.announcements}
            for block, announcement in wanted.items():
                if self._own.get(block) != announcement:
                    path = messages.path(announcement)
                    await stub.AddPath(gobgp.AddPathRequest(table_type=gobgp.TABLE_TYPE_GLOBAL, path=path))
            for block in self._own.keys() - wanted.keys():
                path, table = messages.path(self._own[block]), gobgp.TABLE_TYPE_GLOBAL
                await stub.DeletePath(gobgp.DeletePathRequest(table_type=table, family=messages.VPLS, path=path))
            await self._work.wait()

    async def _peers(self, stub: GoBgpServiceStub, intent: SpeakerIntent) -> None:
        wanted = {
            s.address: messages.peer(s, intent.local, intent.passwords.get(s.address, ""), intent.hops)
            for s in intent.speakers
        }
        present = {r.peer.conf.neighbor_address: r.peer async for r in stub.ListPeer(gobgp.ListPeerRequest())}
        for address, peer in list(present.items()):
            if address not in wanted or not messages.same_peer(peer, wanted[address]):
                self.signed.pop(address, None)
                await stub.DeletePeer(gobgp.DeletePeerRequest(address=address))
                self.sessions.pop(address, None)
                del present[address]
        for address in wanted.keys() - present.keys():
            await stub.AddPeer(gobgp.AddPeerRequest(peer=wanted[address]))
        if self.signed != (signed := {a: intent.passwords.get(a, "") for a in wanted}):
            self.signed = signed
            self._changed()


async def _started(stub: GoBgpServiceStub, intent: SpeakerIntent) -> gobgp.Global:
    """Return the numbers of the speaker, begun with the intended ones if it has none."""
    if not (running := getattr(await stub.GetBgp(gobgp.GetBgpRequest()), "global")).asn:
        running = gobgp.Global(asn=intent.asn, router_id=intent.router_id, listen_port=-1)
        await stub.StartBgp(gobgp.StartBgpRequest(**{"global": running}))
    return running
