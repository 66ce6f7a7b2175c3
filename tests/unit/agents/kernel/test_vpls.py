"""Labels, blocks and pseudowires (RFC 4761 section 3.2.2)."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.kernel import vpls
from agents.kernel.snapshot import Flood
from agents.kernel.vpls import Announcement, LabelBlock, Pseudowire, announcements, pseudowires
from controller.wire.desired import Endpoint
from tests.unit.agents.desires import endpoint, remote, vtep

ve_ids = st.integers(1, vpls.MAX_VE_ID)
indexes = st.integers(1, 255)


def rewritten(routes: frozenset[Announcement], target: str) -> frozenset[Announcement]:
    """Return the routes as the route server sends them to a recipient."""
    return frozenset(replace(r, rts=frozenset({target})) for r in routes)


def exchange(members: list[Endpoint]) -> dict[str, list[Announcement]]:
    """Return each member's table after announcements have stopped changing."""
    tables: dict[str, list[Announcement]] = {m.name: [] for m in members}
    while True:
        said = {m.name: announcements(m, tables[m.name]) for m in members}
        fresh = {
            m.name: [*said[m.name], *(r for o in members if o is not m for r in rewritten(said[o.name], m.rt))]
            for m in members
        }
        if {n: set(t) for n, t in fresh.items()} == {n: set(t) for n, t in tables.items()}:
            return tables
        tables = fresh


@given(ve_ids)
def test_blocks_are_aligned_and_cover(ve_id: int) -> None:
    offset = vpls.block_offset(ve_id)
    assert (offset - 1) % vpls.BLOCK_SIZE == 0
    assert offset <= ve_id < offset + vpls.BLOCK_SIZE


@given(indexes, ve_ids)
def test_a_block_gives_the_receive_label(index: int, ve_id: int) -> None:
    offset = vpls.block_offset(ve_id)
    block = LabelBlock("65000:1", 1, offset, vpls.BLOCK_SIZE, vpls.receive_label(index, offset))
    assert block.label(ve_id) == vpls.receive_label(index, ve_id) < 2**20
    assert block.label(offset - 1) is None and block.label(offset + vpls.BLOCK_SIZE) is None


@given(st.lists(st.tuples(ve_ids, indexes), min_size=2, max_size=6, unique_by=lambda pair: pair[0]))
def test_both_ends_agree_on_labels(sites: list[tuple[int, int]]) -> None:
    """For any VE IDs, every pair gets a pseudowire, and one end sends on the label on which the other receives."""
    bare = [endpoint(ve, index) for ve, index in sites]
    members = [m.model_copy(update={"remotes": [remote(o) for o in bare if o is not m]}) for m in bare]
    tables = exchange(members)
    found = {m.ve_id: {p.ve_id: p for p in pseudowires(m, tables[m.name])} for m in members}
    for one in members:
        assert one.ve_id is not None and set(found[one.ve_id]) == {m.ve_id for m in members} - {one.ve_id}
        for other, pseudowire in found[one.ve_id].items():
            assert pseudowire.tx == found[other][one.ve_id].rx
            assert pseudowire.vtep == vtep(other)
            assert pseudowire.rx == vpls.receive_label(one.index, other)


def test_a_block_grows_for_a_learned_ve_and_stays() -> None:
    """RFC 4761 section 3.2.2: a VE outside of all blocks gets a further block; when it leaves, the block stays."""
    own = endpoint(1)
    far = rewritten(announcements(endpoint(70), []), own.rt)
    assert {a.block.offset for a in announcements(own, [])} == {1}
    grown = announcements(own, far)
    assert {a.block.offset for a in grown} == {1, 65}
    assert announcements(own, grown) == grown


def test_announcements_carry_the_site_target_and_the_vtep() -> None:
    (only,) = announcements(endpoint(7, index=3), [])
    assert only == Announcement(LabelBlock("65000:7", 7, 1, 64, (3 << 12) | 1), frozenset({"65000:7"}), vtep(7), 1450)


class TestOnlyWhatBothAllow:
    own = endpoint(1, remotes=[remote(endpoint(2))])
    route = next(iter(rewritten(announcements(endpoint(2, index=5), []), own.rt)))

    def test_route_and_desired(self) -> None:
        assert pseudowires(self.own, [self.route]) == {Pseudowire(2, 4098, (5 << 12) | 1, vtep(2))}

    def test_no_route(self) -> None:
        assert pseudowires(self.own, []) == frozenset()

    def test_not_desired(self) -> None:
        assert pseudowires(endpoint(1), [self.route]) == frozenset()

    def test_other_route_target(self) -> None:
        assert pseudowires(self.own, [replace(self.route, rts=frozenset({"65000:2"}))]) == frozenset()

    def test_two_route_targets(self) -> None:
        both = frozenset({"65000:9", self.own.rt})
        assert len(pseudowires(self.own, [replace(self.route, rts=both)])) == 1

    def test_other_next_hop(self) -> None:
        stray = replace(self.route, next_hop="203.0.113.9")
        assert pseudowires(self.own, [stray]) == frozenset()
        assert vpls.misdirected(self.own, [stray]) == [
            "route of e2 has the next hop 203.0.113.9, but its VTEP is 192.0.2.2"
        ]

    def test_a_block_that_does_not_cover_us(self) -> None:
        far = replace(self.route, block=replace(self.route.block, offset=65))
        assert pseudowires(self.own, [far]) == frozenset()

    def test_our_own_ve_id(self) -> None:
        mirror = replace(self.route, block=replace(self.route.block, ve_id=1))
        assert pseudowires(self.own.model_copy(update={"remotes": [remote(endpoint(1))]}), [mirror]) == frozenset()

    @given(st.permutations(range(4)))
    def test_order_of_the_table_does_not_matter(self, order: list[int]) -> None:
        routes = [replace(self.route, block=replace(self.route.block, base=5000 + i)) for i in range(4)]
        assert pseudowires(self.own, [routes[i] for i in order]) == pseudowires(self.own, routes)


class TestHeld:
    """While the PE's table is incomplete, devices stay that the kernel has and the desired state lists."""

    own = endpoint(1, remotes=[remote(endpoint(2))])
    device = vpls.device(own, Pseudowire(2, 4098, 8193, vtep(2)))

    def test_kept(self) -> None:
        assert vpls.held(self.own, [self.device], frozenset()) == {Pseudowire(2, 4098, 8193, vtep(2))}

    def test_not_if_known_anew(self) -> None:
        assert vpls.held(self.own, [self.device], frozenset({Pseudowire(2, 4098, 12289, vtep(2))})) == frozenset()

    def test_not_if_no_longer_desired(self) -> None:
        assert vpls.held(endpoint(1), [self.device], frozenset()) == frozenset()

    @pytest.mark.parametrize(
        "change",
        [
            {"flood": frozenset({Flood("203.0.113.9", 8193)})},
            {"name": "pw2.2"},
            {"vni": 4099},
            {"flood": frozenset()},
            {"flood": None},
        ],
    )
    def test_not_if_it_is_another(self, change: dict[str, object]) -> None:
        assert vpls.held(self.own, [replace(self.device, **change)], frozenset()) == frozenset()  # type: ignore[arg-type]


def test_a_vpls_endpoint_needs_a_ve_id() -> None:
    with pytest.raises(ValueError, match="e1 is VPLS but has no VE ID"):
        pseudowires(endpoint(1, ve_id=None), [])
