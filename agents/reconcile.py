"""Makes the kernel what it should be: fences first, then the plan's operations, then reads back."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agents import lan, vpls
from agents.fence import Fence, Nft, NftError, ruleset
from agents.kernel import Snapshot
from agents.netlink import Kernel, KernelError
from agents.operations import Operation, WriteSysctl, describe, index_of
from agents.plan import plan
from agents.vpls import Announcement, Pseudowire
from controller.wire.desired import Desired, Endpoint
from controller.wire.flavours import Flavour

log = logging.getLogger(__name__)

_ROUNDS = 3  # a second round does what only the first one's outcome allows, such as routes over FRR's tunnels


@dataclass(frozen=True)
class Outcome:
    """The kernel after converging, and by endpoint index what could not be done. `failed` if trying again may help."""

    snapshot: Snapshot
    problems: dict[int, list[str]]
    failed: bool


class Reconciler:
    """The kernel side of the agent. One `converge` at a time."""

    def __init__(self, kernel: Kernel, nft: Nft) -> None:
        self._kernel, self._nft = kernel, nft
        self._fences: dict[str, Fence] = {}  # by bridge
        self._said: frozenset[str] = frozenset()  # failures already in the log

    async def converge(self, desired: Desired, table: Sequence[Announcement], complete: bool) -> Outcome:
        """Brings the kernel in line with the desired state and the PE's VPLS table. While that is not `complete`,
        pseudowires that the desired state still lists are kept."""
        problems: dict[int, list[str]] = defaultdict(list)
        for endpoint in _vpls(desired):
            problems[endpoint.index] += vpls.misdirected(endpoint, table)
        fences = {b: Fence(b, tunnel_pattern(e), e.prefix) for e in desired.endpoints for b in [lan.bridge_name(e)]}
        fenced = await self._fence(self._fences | fences, desired, problems)
        paths = _sysctls(desired)
        snapshot = await self._kernel.read(paths)
        broken: set[int] = set()
        for _ in range(_ROUNDS if fenced else 0):
            todo = plan(desired, _pseudowires(desired, table, complete, snapshot), snapshot)
            for index, texts in todo.problems.items():
                problems[index] += [text for text in texts if text not in problems[index]]
            operations = [o for o in todo.operations if index_of(o) not in broken]
            if not operations:
                break
            broken |= await self._execute(operations, problems)
            snapshot = await self._kernel.read(paths)
        if fenced and fences != self._fences:
            fenced = await self._fence(fences, desired, problems)
            self._fences = fences
        self._log(problems)
        return Outcome(snapshot, problems, failed=bool(broken) or not fenced)

    def _log(self, problems: Mapping[int, list[str]]) -> None:
        texts = frozenset(text for texts in problems.values() for text in texts)
        for text in sorted(texts - self._said):
            log.error("%s", text)
        self._said = texts

    async def _fence(self, fences: Mapping[str, Fence], desired: Desired, problems: dict[int, list[str]]) -> bool:
        try:
            await self._nft.apply(ruleset(list(fences.values())))
        except (NftError, OSError) as error:
            for endpoint in desired.endpoints:
                problems[endpoint.index].append(f"fences are not in place, so nothing was changed: {error}")
            return False
        return True

    async def _execute(self, operations: Iterable[Operation], problems: dict[int, list[str]]) -> set[int]:
        """Does them in order; after a failure leaves out the rest of that endpoint's. Returns the indexes that failed
        (0 for what belongs to no endpoint)."""
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


def tunnel_pattern(endpoint: Endpoint) -> str:
    """The endpoint's tunnel ports: one name, or a prefix that ends in `*`."""
    return f"pw{endpoint.index}.*" if endpoint.flavour is Flavour.VPLS else f"vx{endpoint.index}"


def _vpls(desired: Desired) -> list[Endpoint]:
    return [e for e in desired.endpoints if e.flavour is Flavour.VPLS]


def _sysctls(desired: Desired) -> list[str]:
    return [*lan.router_sysctls(desired), *(path for e in desired.endpoints for path in lan.sysctls(e))]


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
