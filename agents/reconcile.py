"""Brings the kernel to its desired state: loads the fences, applies the plan's operations, and reads the kernel
back."""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address, ip_network
from typing import Protocol

from agents.access import Access
from agents.fence import BUDGETS, Fence, Underlay, budgets, ruleset
from agents.kernel import evpn, lan, vpls
from agents.kernel.netlink import Kernel, KernelError
from agents.kernel.operations import Operation, WriteSysctl, describe, index_of
from agents.kernel.plan import plan
from agents.kernel.ports import on_bridge
from agents.kernel.snapshot import Snapshot
from agents.kernel.vpls import Announcement, Pseudowire
from agents.nft import Nft, NftError
from controller.wire.desired import Desired, Endpoint
from controller.wire.flavours import Flavour

log = logging.getLogger(__name__)

_ROUNDS = 3  # a second round applies what the first one makes possible, such as routes over FRR's tunnels


@dataclass(frozen=True)
class Outcome:
    """The snapshot after a reconcile pass, and the problems by endpoint index. `failed` says that another try may
    help."""

    snapshot: Snapshot
    problems: dict[int, list[str]]
    failed: bool


class Heard(Protocol):
    """The VPLS routes that the PE has received, and whether these are all (agents/bgp/gobgp)."""

    @property
    def table(self) -> Sequence[Announcement]: ...
    @property
    def complete(self) -> bool: ...


def _unguarded(desired: Desired) -> str:
    return ""


class Reconciler:
    """The kernel side of the agent. Only one `converge` may run at a time. `guard` returns nft text that is loaded
    together with the fences, and so are the access rules: all are in place before any tunnel exists. `arrivals` are the
    TCP ports at which machines arrive."""

    def __init__(
        self,
        kernel: Kernel,
        nft: Nft,
        guard: Callable[[Desired], str] = _unguarded,
        access: Access | None = None,
        arrivals: tuple[range, ...] = (),
    ) -> None:
        self._kernel, self._nft, self._guard, self._access, self._arrivals = kernel, nft, guard, access, arrivals
        self._guarded: frozenset[str] = frozenset()  # addresses whose BGP the loaded guard protects
        self._fences: dict[str, Fence] = {}  # by bridge
        self._bridges: set[str] | None = None  # all that were ever fenced; None until read from the kernel
        self._said: frozenset[str] = frozenset()  # failures already in the log
        self._left: Snapshot | None = None  # by the pass before, if nothing remained to do

    async def shut(self, desired: Desired) -> bool:
        """Load the guard, before anything else happens, if a further address has its BGP protected. Return False if
        that failed: then no BGP session may start."""
        protected = frozenset(each.address for each in desired.protected)
        text = self._guard(desired) if protected - self._guarded else ""
        if text:
            try:
                await self._nft.load(text)
            except (NftError, OSError) as error:
                log.error("the guard is not in place, so there is no BGP: %s", error)
                return False
        self._guarded = protected
        return True

    async def converge(self, desired: Desired, heard: Heard) -> Outcome:
        """Bring the kernel in line with the desired state and the PE's VPLS table. While that table is not complete,
        keep the pseudowires that the desired state still lists."""
        problems: dict[int, list[str]] = defaultdict(list)
        fences = {f.bridge: replace(f, ports=self._ports(f)) for f in _fences(desired)}
        fenced = await self._fence(self._fences | fences, desired, problems)
        paths = _sysctls(desired)
        if fenced:
            await self._hasten(desired, heard)
        snapshot = await self._kernel.read(paths)
        table, complete = heard.table, heard.complete  # read only now: routes come right after a new desired state
        for endpoint in _vpls(desired):
            problems[endpoint.index] += vpls.misdirected(endpoint, table)
        broken: set[int] = set()
        done: set[Operation] = set()  # an operation without effect is not tried again in the same pass
        for _ in range(_ROUNDS if fenced else 0):
            todo = plan(desired, _pseudowires(desired, table, complete, snapshot), snapshot)
            for index, texts in todo.problems.items():
                problems[index] += [text for text in texts if text not in problems[index]]
            operations = [o for o in todo.operations if index_of(o) not in broken and o not in done]
            if not todo.operations:
                self._left = snapshot
            if not operations:
                break
            done.update(operations)
            broken |= await self._execute(operations, problems)
            snapshot = await self._kernel.read(paths)
        for endpoint in desired.endpoints:
            name = lan.bridge_name(endpoint)
            fences[name] = replace(fences[name], ports=tuple(on_bridge(snapshot, endpoint)))
        if fenced and fences != self._fences:
            fenced = await self._fence(fences, desired, problems)
            self._fences = fences
        self._log(problems)
        return Outcome(snapshot, problems, failed=bool(broken) or not fenced)

    async def _hasten(self, desired: Desired, heard: Heard) -> None:
        """Apply what is to do if the kernel still is as the pass before has left it: reading all of it first would be a
        third of a join's time. It is read right after this, and the rest of the pass does what is then missing."""
        left, self._left = self._left, None
        if left is None:
            return
        wanted = _pseudowires(desired, heard.table, heard.complete, left)
        await self._execute(plan(desired, wanted, left).operations, defaultdict(list))

    def _ports(self, fence: Fence) -> tuple[str, ...]:
        """Return the LAN's access ports of the last pass."""
        before = self._fences.get(fence.bridge)
        return before.ports if before is not None else ()

    def _underlay(self, desired: Desired) -> Underlay:
        tunnels = frozenset(
            tunnel
            for endpoint in desired.endpoints
            for tunnel in (evpn if endpoint.flavour is Flavour.EVPN else vpls).received(endpoint)
        )
        return Underlay(desired.vtep, tunnels, self._arrivals)

    def _log(self, problems: Mapping[int, list[str]]) -> None:
        texts = frozenset(text for texts in problems.values() for text in texts)
        for text in sorted(texts - self._said):
            log.error("%s", text)
        self._said = texts

    async def _fence(self, fences: Mapping[str, Fence], desired: Desired, problems: dict[int, list[str]]) -> bool:
        try:
            ordered = list(fences.values())
            if self._bridges is None:
                self._bridges = {counter.bridge for counter in await self._nft.counters(BUDGETS)}
            self._bridges |= fences.keys()
            counted = budgets(ordered, self._bridges - fences.keys())
            text = ruleset(ordered, self._underlay(desired)) + counted + self._guard(desired)
            if self._access is None:
                await self._nft.apply(text)
            elif await self._nft.apply(text + self._access.text(desired), await self._access.first(desired)):
                self._access.applied(desired)
        except (NftError, OSError) as error:
            if self._access is not None:
                self._access.applied(None)
            for endpoint in desired.endpoints:
                problems[endpoint.index].append(f"fences are not in place, so nothing was changed: {error}")
            return False
        return True

    async def _execute(self, operations: Iterable[Operation], problems: dict[int, list[str]]) -> set[int]:
        """Apply the operations in order. After a failure leave out the rest of that endpoint's operations. Return the
        indexes of the endpoints that failed (0 for operations that belong to no endpoint)."""
        broken: set[int] = set()
        for operation in operations:
            index = index_of(operation)
            if index in broken:
                continue
            try:
                await self._kernel.apply(operation)
                log.log(
                    logging.DEBUG if isinstance(operation, WriteSysctl) else logging.INFO, "%s", describe(operation)
                )
            except KernelError as error:
                broken.add(index)
                problems[index].append(str(error))
        return broken


def _fences(desired: Desired) -> Iterator[Fence]:
    for endpoint in desired.endpoints:
        mac, bridge, tunnels = (
            lan.mac(desired.cloudlet, endpoint.index),
            lan.bridge_name(endpoint),
            lan.tunnel_pattern(endpoint),
        )
        gateways6 = (endpoint.gateway6, str(lan.link_local(mac))) if endpoint.gateway6 is not None else ()
        gateway = endpoint.gateway if ip_address(endpoint.gateway).version == 4 else None
        prefixes = {prefix for remote in endpoint.remotes for prefix in (remote.prefix, remote.prefix6) if prefix}
        yield Fence(
            bridge,
            tunnels,
            endpoint.prefix,
            endpoint.prefix6,
            gateways6,
            mac,
            gateway=gateway,
            learns=endpoint.flavour is Flavour.VPLS,
            remotes=tuple(sorted(str(ip_network(prefix, strict=False)) for prefix in prefixes)),
        )


def _vpls(desired: Desired) -> list[Endpoint]:
    return [e for e in desired.endpoints if e.flavour is Flavour.VPLS]


def _sysctls(desired: Desired) -> list[str]:
    tables = lan.neighbour_tables()
    return [*lan.router_sysctls(desired), *tables, *(path for e in desired.endpoints for path in lan.sysctls(e))]


def _pseudowires(
    desired: Desired, table: Sequence[Announcement], complete: bool, snapshot: Snapshot
) -> dict[int, frozenset[Pseudowire]]:
    wanted = {}
    for endpoint in _vpls(desired):
        pseudowires = vpls.pseudowires(endpoint, table)
        if not complete:
            pseudowires |= vpls.held(endpoint, snapshot.vxlans.values(), pseudowires)
        wanted[endpoint.index] = pseudowires
    return wanted
