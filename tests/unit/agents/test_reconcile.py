"""Reconciliation with models of a kernel and an nft: order, failures, fences."""

from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from agents.fence import BUDGETS, UNASKED
from agents.kernel.netlink import Kernel, KernelError
from agents.kernel.operations import Operation, describe
from agents.kernel.snapshot import Snapshot
from agents.kernel.vpls import Announcement, LabelBlock
from agents.nft import Dropped, Nft, NftError
from agents.reconcile import Reconciler
from controller.wire.desired import Desired, Protected
from controller.wire.flavours import Flavour
from tests.unit.agents.desires import desired, endpoint, remote, vtep
from tests.unit.agents.kernel_model import after


@dataclass
class ModelKernel:
    """A kernel that applies operations to a snapshot; it refuses operations whose text contains `refused`.
    `settings_read` is the value that every setting reads as, whatever was written. `strange`: others have changed it,
    so an operation may not fit; else that is a defect of the plan."""

    snapshot: Snapshot = field(default_factory=Snapshot)
    refused: str | None = None
    settings_read: str | None = None
    strange: bool = False
    done: list[str] = field(default_factory=list)

    async def read(self, sysctls: object = ()) -> Snapshot:
        self.done.append("read")
        if self.settings_read is not None:
            return replace(self.snapshot, sysctls=dict.fromkeys(self.snapshot.sysctls, self.settings_read))
        return self.snapshot

    async def apply(self, operation: Operation) -> None:
        if self.refused and self.refused in describe(operation):
            raise KernelError(f"cannot {describe(operation)}: no buffer space available")
        try:
            self.snapshot = after(self.snapshot, (operation,))
        except (AssertionError, KeyError):
            if not self.strange:
                raise
            raise KernelError(f"cannot {describe(operation)}: no such device") from None
        self.done.append(describe(operation))


@dataclass
class ModelNft:
    kernel: ModelKernel
    broken: bool = False
    fences: list[set[str]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    budgeted: tuple[str, ...] = ()

    async def counters(self, *tables: str) -> list[Dropped]:
        if self.broken:
            raise NftError("nft: not found")
        return [Dropped(bridge, "crowd-at", 7, 700) for bridge in self.budgeted if tables == (BUDGETS,)]

    async def apply(self, text: str, first: str = "") -> bool:
        if self.broken:
            raise NftError("nft: not found")
        self.fences.append({bridge for bridge in ("lan1", "lan2") if f'"{bridge}"' in text})
        self.texts.append(text)
        self.kernel.done.append("fences")
        return True

    async def load(self, text: str) -> int:
        if self.broken:
            raise NftError("nft: not found")
        self.loaded.append(text)
        return 1


KERNEL_OF_TWO = desired(endpoint(1, remotes=[remote(endpoint(2))]), endpoint(3, index=2, remotes=[remote(endpoint(2))]))
TABLE = [
    Announcement(LabelBlock("65000:2", 2, 1, 64, 4097), frozenset({"65000:1", "65000:3"}), vtep(2), 1450),
]


@dataclass
class Heard:
    table: list[Announcement]
    complete: bool = True


HEARD = Heard(TABLE)


@pytest.fixture
def kernel() -> ModelKernel:
    return ModelKernel()


def reconciler(kernel: ModelKernel, nft: ModelNft) -> Reconciler:
    return Reconciler(cast(Kernel, kernel), cast(Nft, nft))


async def test_fences_stand_before_the_first_tunnel_and_after_the_last(kernel: ModelKernel) -> None:
    nft = ModelNft(kernel)
    both = reconciler(kernel, nft)
    await both.converge(KERNEL_OF_TWO, HEARD)
    assert kernel.done[0] == "fences" and nft.fences[-1] == {"lan1", "lan2"}
    kernel.done.clear()
    await both.converge(desired(KERNEL_OF_TWO.endpoints[0]), HEARD)
    assert nft.fences[-2:] == [{"lan1", "lan2"}, {"lan1"}]
    assert kernel.done[0] == kernel.done[-1] == "fences"
    assert any(text.startswith("delete pw2.2") for text in kernel.done)


async def test_a_lan_that_went_while_no_agent_ran_leaves_no_counters(kernel: ModelKernel) -> None:
    nft = ModelNft(kernel, budgeted=("lan1", "lan7"))
    both = reconciler(kernel, nft)
    await both.converge(KERNEL_OF_TWO, HEARD)
    assert "delete counter bridge weft-budgets lan7.crowd-at" in nft.texts[-1]
    assert "delete counter bridge weft-budgets lan1." not in nft.texts[-1]


async def test_without_fences_nothing_is_done(kernel: ModelKernel) -> None:
    outcome = await reconciler(kernel, ModelNft(kernel, broken=True)).converge(KERNEL_OF_TWO, HEARD)
    assert kernel.done == ["read"] and outcome.failed
    assert outcome.problems[1] == ["fences are not in place, so nothing was changed: nft: not found"]


async def test_a_failure_stops_that_endpoint_alone(kernel: ModelKernel) -> None:
    kernel.refused = "tunnel pw1.2"
    both = reconciler(kernel, ModelNft(kernel))
    outcome = await both.converge(KERNEL_OF_TWO, HEARD)
    assert outcome.failed and list(outcome.problems[1]) == [
        "cannot add tunnel pw1.2: from 192.0.2.1, receive on 4098, send to 192.0.2.2 on 4097: no buffer space available"
    ]
    assert set(outcome.snapshot.vxlans) == {"pw2.2"}
    assert {r.device for r in outcome.snapshot.routes} == {"lan2"}  # no route without its tunnel
    kernel.refused = None
    outcome = await both.converge(KERNEL_OF_TWO, HEARD)
    assert not outcome.failed and set(outcome.snapshot.vxlans) == {"pw1.2", "pw2.2"}


async def test_what_has_no_effect_is_done_once(kernel: ModelKernel) -> None:
    kernel.settings_read = "52"
    await reconciler(kernel, ModelNft(kernel)).converge(KERNEL_OF_TWO, HEARD)
    settings = [text for text in kernel.done if text.startswith("set net.")]
    assert settings and len(settings) == len(set(settings))


async def test_an_incomplete_table_keeps_pseudowires_and_a_complete_one_does_not(kernel: ModelKernel) -> None:
    both = reconciler(kernel, ModelNft(kernel))
    await both.converge(KERNEL_OF_TWO, HEARD)
    before = kernel.snapshot
    kernel.done.clear()
    assert (await both.converge(KERNEL_OF_TWO, Heard([], complete=False))).snapshot == before
    assert set(kernel.done) == {"fences", "read"}
    assert (
        await both.converge(desired(endpoint(1)), Heard([], complete=False))
    ).snapshot.vxlans == {}  # not desired any more
    await both.converge(KERNEL_OF_TWO, HEARD)
    assert (await both.converge(KERNEL_OF_TWO, Heard([]))).snapshot.vxlans == {}


async def test_a_change_is_applied_before_the_kernel_is_read(kernel: ModelKernel) -> None:
    both = reconciler(kernel, ModelNft(kernel))
    await both.converge(KERNEL_OF_TWO, Heard([]))
    kernel.done.clear()
    outcome = await both.converge(KERNEL_OF_TWO, HEARD)
    assert set(outcome.snapshot.vxlans) == {"pw1.2", "pw2.2"}
    assert kernel.done.index("read") == len(kernel.done) - 1, "one look, after all operations"


async def test_what_others_have_changed_since_the_last_pass_is_mended(kernel: ModelKernel) -> None:
    """The change is applied to a kernel that is no longer as the pass before has left it."""
    both = reconciler(kernel, ModelNft(kernel))
    await both.converge(KERNEL_OF_TWO, Heard([]))
    wanted = (await reconciler(ModelKernel(), ModelNft(kernel)).converge(KERNEL_OF_TWO, HEARD)).snapshot
    kernel.snapshot, kernel.strange = Snapshot(), True
    outcome = await both.converge(KERNEL_OF_TWO, HEARD)
    assert outcome.snapshot == wanted and not outcome.failed and outcome.problems.keys() <= {1, 2}
    assert not any(outcome.problems.values())


async def test_after_a_failure_the_kernel_is_read_first(kernel: ModelKernel) -> None:
    kernel.refused = "tunnel pw1.2"
    both = reconciler(kernel, ModelNft(kernel))
    await both.converge(KERNEL_OF_TWO, HEARD)
    kernel.refused = None
    kernel.done.clear()
    await both.converge(KERNEL_OF_TWO, HEARD)
    assert next(text for text in kernel.done if text != "fences") == "read"


async def test_a_failure_is_logged_once(kernel: ModelKernel, caplog: pytest.LogCaptureFixture) -> None:
    kernel.refused = "add tunnel"
    both = reconciler(kernel, ModelNft(kernel))
    for _ in range(3):
        await both.converge(KERNEL_OF_TWO, HEARD)
    assert len([r for r in caplog.records if r.levelname == "ERROR"]) == 2  # one for each endpoint


async def test_where_machines_arrive_is_closed_to_strangers(kernel: ModelKernel) -> None:
    nft = ModelNft(kernel)
    both = Reconciler(cast(Kernel, kernel), cast(Nft, nft), arrivals=(range(49152, 49216),))
    await both.converge(KERNEL_OF_TWO, HEARD)
    assert "tcp dport 49152-49215" in nft.texts[-1] and f"counter name {UNASKED} drop" in nft.texts[-1]


async def test_the_guard_goes_ahead_of_bgp_that_is_new_to_it_and_of_nothing_else(kernel: ModelKernel) -> None:
    """All other parts of the guard are loaded with the fences."""
    one, two = (Protected(name=f"rs{n}", address=f"198.51.100.{n}") for n in (1, 2))

    def state(*protected: Protected, version: int = 1) -> Desired:
        return KERNEL_OF_TWO.model_copy(update={"protected": list(protected), "version": version})

    nft = ModelNft(kernel, broken=True)
    both = Reconciler(cast(Kernel, kernel), cast(Nft, nft), lambda d: f"{d.version}: {len(d.protected)}")
    assert not await both.shut(state(one)), "no BGP without it"
    nft.broken = False
    assert await both.shut(state(one)) and nft.loaded == ["1: 1"]
    assert await both.shut(state(one, version=2)) and await both.shut(state(one)) and nft.loaded == ["1: 1"]
    assert await both.shut(state(one, two)) and await both.shut(state(one)) and nft.loaded == ["1: 1", "1: 2"]
    assert await both.shut(state()) and await both.shut(state(one)) and nft.loaded == ["1: 1", "1: 2", "1: 1"]


async def test_vxlan_is_taken_from_each_remote_with_its_own_vni(kernel: ModelKernel) -> None:
    """A VPLS remote uses the label that it was given. An EVPN member uses the endpoint's VNI."""
    far = endpoint(3, flavour=Flavour.EVPN)
    near = endpoint(4, index=2, flavour=Flavour.EVPN, remotes=[remote(far)])
    nft = ModelNft(kernel)
    await reconciler(kernel, nft).converge(desired(endpoint(1, remotes=[remote(endpoint(2))]), near), HEARD)
    assert "elements = { 192.0.2.2 . 0x1002, 192.0.2.3 . 0x2710 }" in nft.texts[-1]
