"""EVPN endpoints in the kernel: one VXLAN device per endpoint, whose FDB FRR fills. Pure."""

from collections.abc import Iterator

from agents.kernel.snapshot import Vxlan
from controller.wire.desired import Endpoint


def device(endpoint: Endpoint) -> Vxlan:
    """Return the endpoint's VXLAN device. Learning is off because MAC addresses come by BGP (RFC 8365). One port
    carries all remotes, and a bridge never sends a frame back to its port, so split horizon needs no isolation."""
    if endpoint.vni is None:
        raise ValueError(f"endpoint {endpoint.name} is EVPN but has no VNI")
    return Vxlan(
        name=f"vx{endpoint.index}",
        vni=endpoint.vni,
        local=endpoint.vtep,
        mtu=endpoint.mtu,
        bridge=f"lan{endpoint.index}",
        isolated=False,
        learning=False,
        up=True,
        flood=None,
    )


def received(endpoint: Endpoint) -> Iterator[tuple[str, int]]:
    """Yield the sources of the endpoint's frames: each remote's VTEP, and the VNI of the endpoint."""
    if endpoint.vni is not None:
        for remote in endpoint.remotes:
            yield remote.vtep, endpoint.vni
