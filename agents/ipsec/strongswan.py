"""Tunnels made by strongSwan: charon has the intended connections, and those have SAs.

charon may end and start at any time. This module then loads the intended connections again and makes new SAs.
Meanwhile, and whenever there is no SA, the guard (guard.py) and the traps keep VXLAN from leaving.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from agents.backoff import Backoff
from agents.ipsec.association import Association
from agents.ipsec.charon import Charon, CharonAway, CharonError
from agents.ipsec.connections import PROOF, Connection, connections, ends, leads, name, proof, proofs, proves
from agents.ipsec.credentials import Credentials, CredentialsError, read
from agents.ipsec.reasons import REFUSED, Reasons
from agents.ipsec.reauthentication import Act, Reauthentication
from agents.ipsec.traffic import Meter
from agents.ipsec.tunnel import TunnelIntent, TunnelPeer, TunnelState

log = logging.getLogger(__name__)

FOLLOW = 3.0
"""Seconds after which the end that does not lead begins anyway: the leader may believe that it still has a tunnel, to a
charon that has been killed since."""

_INTERVAL = 5.0  # seconds between looks at charon and at the credentials' files, without an event
_WATCH = 1.0  # seconds between looks at peers that have to prove their names again
_LINGER = 2  # seconds after which a proof is ended; until then the other end has seen it
_BREATH = 0.03  # seconds after each pass: with many peers SAs come in bursts, and every pass reads all
_NOTHING = Association()


class Strongswan:
    """Implements agents.ipsec.Tunnels. `identity` is the directory of this cloudlet's credentials. Strongswan calls
    `changed` when a tunnel has come or gone."""

    def __init__(self, vici: Path, identity: Path, changed: Callable[[], None]) -> None:
        self.problem: str | None = None
        self._charon, self._identity, self._changed = Charon(vici), identity, changed
        self._intent: TunnelIntent | None = None
        self._states: dict[str, TunnelState] = {}
        self._work = asyncio.Event()
        # The configuration that charon has got since it started.
        self._told: dict[str, Connection] = {}
        self._told_identity: Credentials | None = None
        self._due: dict[str, tuple[float, Backoff]] = {}  # when to begin a tunnel (again)
        self._doubts = Reauthentication()  # who has to prove its name again
        # By the names of connections: what went through, and why there is no tunnel.
        self._meters: dict[str, Meter] = {}
        self._reasons = Reasons()

    @property
    def states(self) -> Mapping[str, TunnelState]:
        """The states of the tunnels by the peer's VTEP."""
        return self._states

    def intend(self, intent: TunnelIntent) -> None:
        """Set the tunnels that there should be; takes effect soon."""
        if intent != self._intent:
            self._intent = intent
            known, now = self._states, _now()
            self._states = {p.vtep: known.get(p.vtep) or TunnelState(p, up=False, since=now) for p in intent.peers}
            self._work.set()

    def look(self) -> None:
        """Read the credentials' files again soon, because they may have changed."""
        self._work.set()

    async def run(self) -> None:
        """Keep charon's tunnels as intended until it is cancelled."""
        backoff = Backoff(cap=1.0)
        while True:
            self._told, self._told_identity, self._due, self._doubts = {}, None, {}, Reauthentication()
            self._note(await self._session(backoff))
            if self._note_states({}):
                self._changed()
            await asyncio.sleep(backoff.delay())

    async def _session(self, backoff: Backoff) -> str:
        """Watch charon and keep its tunnels until it is away, and return why. This uses no TaskGroup: one that ends by
        an error of its own may lose a cancellation from outside."""
        work = [
            asyncio.create_task(self._charon.watch(self._work.set, self._work.set, self._proved, self._failed)),
            asyncio.create_task(self._keep(backoff)),
        ]
        try:
            await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in work:
                task.cancel()
            ends = await asyncio.gather(*work, return_exceptions=True)
        for end in ends:
            if isinstance(end, Exception) and not isinstance(end, CharonAway):
                raise end
        return next(str(end) for end in ends if isinstance(end, CharonAway))

    async def _keep(self, backoff: Backoff) -> None:
        await self._work.wait()  # for charon
        while True:
            self._work.clear()
            if self._intent is not None:
                await self._converge(self._intent)
                backoff.reset()
                await asyncio.sleep(_BREATH)
            soonest = min((at for at, _ in self._due.values()), default=float("inf"))
            interval = _WATCH if self._doubts.active(_now()) else _INTERVAL
            pause = min(interval, max(0.0, soonest - _now()))
            try:
                async with asyncio.timeout(pause):
                    await self._work.wait()
            except TimeoutError:
                continue

    async def _converge(self, intent: TunnelIntent) -> None:
        """Run one pass: unload the extra connections, load the missing ones, and begin the missing tunnels."""
        tunnels, beside = connections(intent), proofs(intent)
        wanted = tunnels | beside
        try:
            present = await self._charon.connections()
            found = await self._charon.associations()
        except CharonAway:
            raise
        except CharonError as error:
            self._note(str(error))  # the tunnels' state is unknown: none counts as down, none is recreated
            return
        for moved in sorted(each for each, sa in found.items() if each in wanted and sa.ends - {ends(wanted[each])}):
            # An SA between former addresses protects nothing, and charon keeps it when its connection changes.
            log.info("tunnel %s: an end has another address", moved)
            await self._charon.end(moved)
            await self._charon.unload(moved)
            self._told.pop(moved, None)
            found.pop(moved)
        for extra in sorted((present | found.keys()) - wanted.keys()):
            log.info("tunnel %s: taken down", extra)
            await self._charon.unload(extra)
            self._told.pop(extra, None)
        problem = None
        try:
            problem = await self._identify(intent, found)
            await self._load(tunnels, present)
            await self._call(intent, found)
            await self._load(beside, present)  # tunnels do not wait for them
            await self._doubt(found)
        except CharonAway:
            raise
        except CharonError as error:
            problem = str(error)
        self._note(problem)
        if self._note_states(found):
            self._changed()

    async def _load(self, wanted: Mapping[str, Connection], present: Collection[str]) -> None:
        lacking = {n: c for n, c in wanted.items() if self._told.get(n) != c or n not in present}
        if lacking and self._told_identity is not None:
            await self._charon.load(lacking)
            self._told |= lacking

    async def _identify(self, intent: TunnelIntent, found: Mapping[str, Association]) -> str | None:
        """Load the credentials' files if they have changed: a certificate was renewed here, or revoked elsewhere.
        Return the problem with them, if any."""
        try:
            identity = await asyncio.to_thread(read, self._identity)
            if identity == self._told_identity:
                return None
            news = identity.revoked - (self._told_identity.revoked if self._told_identity is not None else frozenset())
        except CredentialsError as error:
            return str(error)
        await self._charon.identify(identity)
        self._told_identity = identity
        if news:
            self._doubts.begin({each: leading for each, leading in _leading(intent).items() if each in found}, _now())
        return None

    async def _doubt(self, found: Mapping[str, Association]) -> None:
        """Ask peers to prove their names again, and end the tunnels of those that do not."""
        shown = {each: association for each, association in found.items() if each.startswith(PROOF)}
        for each, association in shown.items():
            if association.age is not None and association.age >= _LINGER:
                await self._charon.end(each)
        admitted = {each for each, association in found.items() if association.admitted} - shown.keys()
        for each, act in list(self._doubts.due(_now(), admitted, {proves(each) for each in shown})):
            if act is Act.ASK:
                await self._charon.prove(proof(each))
            elif act is Act.REPLACE:
                await self._charon.replace(each)
            else:
                log.warning("tunnel %s: ended, as its peer has not proved its name again", each)
                await self._charon.end(each)

    async def _call(self, intent: TunnelIntent, found: Mapping[str, Association]) -> None:
        """Begin missing tunnels: at once at the end that leads, a while later at the other."""
        names = {name(peer): peer for peer in intent.peers}
        self._due = {each: due for each, due in self._due.items() if each in names}
        for each, peer in names.items():
            association = found.get(each, _NOTHING)
            if association.up or self._told_identity is None:
                self._due.pop(each, None)
                continue
            first = 0.0 if leads(intent, peer) else FOLLOW
            at, backoff = self._due.setdefault(each, (_now() + first, Backoff(cap=FOLLOW)))
            if at > _now():
                continue
            if not association.coming:
                await self._charon.initiate(each)
            self._due[each] = _now() + backoff.delay(), backoff

    def _proved(self, each: str) -> None:
        leading = _leading(self._intent) if self._intent is not None else {}
        self._doubts.proved(proves(each), leading.get(proves(each), True), _now())

    def _failed(self, each: str, attempt: str, line: str) -> None:
        if each.startswith(PROOF):
            if REFUSED in line:
                self._doubts.refused(proves(each))
                self._work.set()
            return
        before = self._reasons.of(each)
        self._reasons.take(each, attempt, line)
        if self._reasons.of(each) != before:
            self._work.set()

    def _note_states(self, found: Mapping[str, Association]) -> bool:
        """Take in charon's state. Return whether a tunnel has come or gone, or the reason for a missing one has
        changed."""
        changed, states = False, {}
        peers = {name(peer): peer for peer in (self._intent.peers if self._intent is not None else ())}
        self._meters = {each: self._meters.get(each) or Meter() for each in peers}
        self._reasons.keep({each for each in peers if not found.get(each, _NOTHING).up})
        for each, peer in peers.items():
            state, before = self._state(each, peer, found.get(each, _NOTHING)), self._states.get(peer.vtep)
            turned = before is None or before.up != state.up
            if turned and (state.up or before is not None):
                changed = True
                log.info("tunnel to %s (%s): %s", peer.cloudlet, peer.vtep, "up" if state.up else "down")
            changed |= before is not None and before.why != state.why
            states[peer.vtep] = state
        self._states = states
        return changed

    def _state(self, each: str, peer: TunnelPeer, association: Association) -> TunnelState:
        before, now = self._states.get(peer.vtep), _now()
        return TunnelState(
            peer=peer,
            up=association.up,
            since=now if before is None or before.up != association.up else before.since,
            coming=association.coming and not association.up,
            ike=association.ike,
            esp=association.esp,
            keyed=now - association.keyed if association.keyed is not None else None,
            rekey=now + association.rekey if association.rekey is not None else None,
            traffic=self._meters[each].take(association.traffic),
            why=self._reasons.of(each),
        )

    def _note(self, problem: str | None) -> None:
        if problem != self.problem:
            self.problem = problem
            if problem is not None:
                log.warning("%s", problem)
            self._changed()


def _leading(intent: TunnelIntent) -> dict[str, bool]:
    """Return, for each tunnel, whether this end leads."""
    return {name(peer): leads(intent, peer) for peer in intent.peers}


def _now() -> float:
    return asyncio.get_running_loop().time()
