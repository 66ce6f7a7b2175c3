"""VPLS endpoints: label arithmetic of RFC 4761 section 3.2.2, and pseudowires as VXLAN devices. Pure.

Labels are VNIs. The label on which the endpoint with index i receives from VE ID v is `(i << 12) | v`, so the block
at offset o has the base `(i << 12) | o`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agents.kernel.snapshot import Flood, Vxlan
from controller.wire.desired import Endpoint
from controller.wire.findings import Finding

BLOCK_SIZE = 64
"""VE IDs per label block."""

MAX_VE_ID = 4095


@dataclass(frozen=True, slots=True, order=True)
class LabelBlock:
    """A VPLS NLRI (RFC 4761 section 3.2.2): `rd` gives the labels from `base` on to the VE IDs from `offset` on."""

    rd: str
    ve_id: int
    offset: int
    size: int
    base: int

    def label(self, ve_id: int) -> int | None:
        """Return the label that the VE with this ID sends with, or None if the block does not cover it."""
        return self.base + ve_id - self.offset if self.offset <= ve_id < self.offset + self.size else None


@dataclass(frozen=True, slots=True)
class Announcement:
    """A block with its attributes: route targets, next hop (a VTEP), and the layer-2 MTU in bytes. `control_word` says
    that its sender wants a control word in front of each frame (RFC 4761, section 3.2.4)."""

    block: LabelBlock
    rts: frozenset[str]
    next_hop: str
    mtu: int
    control_word: bool = False


@dataclass(frozen=True, slots=True, order=True)
class Pseudowire:
    """A pseudowire to the remote with VE ID `ve_id` at `vtep`: it receives on label `rx` and sends with label `tx`."""

    ve_id: int
    rx: int
    tx: int
    vtep: str


def receive_label(index: int, ve_id: int) -> int:
    """Return the label on which endpoint `index` receives from the VE `ve_id`."""
    return (index << 12) | ve_id


def block_offset(ve_id: int) -> int:
    """Return the offset of the aligned block that covers `ve_id`."""
    return 1 + BLOCK_SIZE * ((ve_id - 1) // BLOCK_SIZE)


def own_ve(endpoint: Endpoint) -> int:
    """Return the endpoint's VE ID. Raises ValueError if it has none, as VPLS needs one."""
    if endpoint.ve_id is None:
        raise ValueError(f"endpoint {endpoint.name} is VPLS but has no VE ID")
    return endpoint.ve_id


def announcements(endpoint: Endpoint, table: Iterable[Announcement]) -> frozenset[Announcement]:
    """Return the endpoint's announcements, given every route in the PE's table (its own ones too).

    The endpoint always announces the block with its own VE ID, and one block for each VE ID that a route with our route
    target or the desired state names (RFC 4761 section 3.2.2, second half). It keeps a block that it has announced, so
    that a remote that leaves changes no announcement.
    """
    own = own_ve(endpoint)
    known = {own} | {r.ve_id for r in endpoint.remotes if r.ve_id is not None}
    for route in table:
        if route.block.rd == endpoint.rd and route.block.ve_id == own:
            known.add(route.block.offset)
        elif endpoint.rt in route.rts:
            known.add(route.block.ve_id)
    offsets = {block_offset(ve) for ve in known if 1 <= ve <= MAX_VE_ID}
    return frozenset(
        Announcement(
            LabelBlock(endpoint.rd, own, offset, BLOCK_SIZE, receive_label(endpoint.index, offset)),
            frozenset({endpoint.rt}),
            endpoint.vtep,
            endpoint.mtu,
        )
        for offset in offsets
    )


def pseudowires(endpoint: Endpoint, table: Iterable[Announcement]) -> frozenset[Pseudowire]:
    """Return the desired pseudowires: one per remote that the desired state lists and for which BGP has a route with
    our route target, from the remote's VTEP, and with a block that covers our VE ID. Of several such routes the highest
    label counts, so that the result does not depend on the table's order."""
    own = own_ve(endpoint)
    vteps = {r.ve_id: r.vtep for r in endpoint.remotes if r.ve_id is not None}
    labels: dict[int, int] = {}
    for route in table:
        block = route.block
        tx = block.label(own)
        if tx is None or block.ve_id == own or endpoint.rt not in route.rts:
            continue
        if vteps.get(block.ve_id) == route.next_hop:
            labels[block.ve_id] = max(tx, labels.get(block.ve_id, 0))
    return frozenset(Pseudowire(ve, receive_label(endpoint.index, ve), tx, vteps[ve]) for ve, tx in labels.items())


def received(endpoint: Endpoint) -> Iterator[tuple[str, int]]:
    """Yield the sources of the endpoint's frames: each remote's VTEP, and the label that was given to it alone."""
    for remote in endpoint.remotes:
        if remote.ve_id is not None:
            yield remote.vtep, receive_label(endpoint.index, remote.ve_id)


def misdirected(endpoint: Endpoint, table: Iterable[Announcement]) -> list[str]:
    """Return sentences about routes that are not used because their next hop is not the remote's VTEP."""
    remotes = {r.ve_id: r for r in endpoint.remotes if r.ve_id is not None}
    return sorted(
        f"route of {remote.endpoint} has the next hop {route.next_hop}, but its VTEP is {remote.vtep}"
        for route in table
        if endpoint.rt in route.rts
        and (remote := remotes.get(route.block.ve_id)) is not None
        and route.next_hop != remote.vtep
    )


def mismatches(endpoint: Endpoint, table: Iterable[Announcement]) -> list[Finding]:
    """Return the remotes whose layer-2 information differs from the endpoint's (RFC 4761, section 3.2.4). An MTU of 0
    is no information. VXLAN carries no control word."""
    remotes = {r.ve_id: r for r in endpoint.remotes if r.ve_id is not None}
    found: dict[tuple[str, str], Finding] = {}
    for route in table:
        remote = remotes.get(route.block.ve_id)
        if remote is None or endpoint.rt not in route.rts or route.next_hop != remote.vtep:
            continue
        pair = f"{endpoint.name} to {remote.endpoint}"
        if route.mtu not in (0, endpoint.mtu):
            text = f"{remote.endpoint} announces an MTU of {route.mtu} bytes, {endpoint.name} has {endpoint.mtu}."
            found["mtu", pair] = Finding(
                kind="mtu-mismatch",
                subject=pair,
                expected=str(endpoint.mtu),
                found=str(route.mtu),
                text=text,
                endpoint=endpoint.name,
            )
        if route.control_word:
            text = f"{remote.endpoint} wants a control word in front of each frame, and {endpoint.name} sends none."
            found["word", pair] = Finding(
                kind="control-word", subject=pair, expected="none", found="one", text=text, endpoint=endpoint.name
            )
    return [found[key] for key in sorted(found)]


def device(endpoint: Endpoint, pseudowire: Pseudowire) -> Vxlan:
    """Return the VXLAN device of this pseudowire."""
    return Vxlan(
        name=f"pw{endpoint.index}.{pseudowire.ve_id}",
        vni=pseudowire.rx,
        local=endpoint.vtep,
        mtu=endpoint.mtu,
        bridge=f"lan{endpoint.index}",
        isolated=True,
        learning=True,
        up=True,
        flood=frozenset({Flood(pseudowire.vtep, pseudowire.tx)}),
    )


def held(endpoint: Endpoint, vxlans: Iterable[Vxlan], wanted: frozenset[Pseudowire]) -> frozenset[Pseudowire]:
    """Return the pseudowires that the kernel has and the desired state still lists. The agent keeps them while the PE's
    table is not complete (gobgpd is away or has just restarted). A remote in `wanted` is left out: its labels may be
    new."""
    vteps = {r.ve_id: r.vtep for r in endpoint.remotes if r.ve_id is not None}
    decided = {p.ve_id for p in wanted}
    kept = set()
    for vxlan in vxlans:
        ve_id = vxlan.vni & MAX_VE_ID
        if vxlan.name != f"pw{endpoint.index}.{ve_id}" or ve_id in decided:
            continue
        for flood in vxlan.flood or ():
            if vteps.get(ve_id) == flood.vtep and vxlan.vni == receive_label(endpoint.index, ve_id):
                kept.add(Pseudowire(ve_id, vxlan.vni, flood.vni, flood.vtep))
    return frozenset(kept)
