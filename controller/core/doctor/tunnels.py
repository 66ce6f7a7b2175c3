"""The comparison of the encrypted tunnels that cloudlets need with those that they report."""

from collections.abc import Iterator, Sequence

from controller.core.doctor.difference import Difference
from controller.core.doctor.kernels import Cloudlet
from controller.core.doctor.kinds import DifferenceKind

MAKING = 2.0
"""Seconds that a tunnel may be missing while it is being set up."""


def compare_tunnels(cloudlets: Sequence[Cloudlet]) -> Iterator[Difference]:
    """Yield the differences of every cloudlet that encrypts. The other cloudlets report nothing about tunnels."""
    encrypts = {c.desired.cloudlet for c in cloudlets if c.report is not None and c.report.ipsec is not None}
    known = {c.desired.cloudlet for c in cloudlets if c.report is not None}
    for cloudlet in sorted(cloudlets, key=lambda c: c.desired.cloudlet):
        if cloudlet.report is None or cloudlet.report.ipsec is None:
            continue
        name, ipsec = cloudlet.desired.cloudlet, cloudlet.report.ipsec
        where = f"IPsec at {name}"
        if ipsec.problem:
            yield Difference(
                DifferenceKind.NO_ENCRYPTION,
                where,
                name,
                "no problem",
                ipsec.problem,
                f"{name} cannot encrypt: {ipsec.problem}.",
            )
        remotes = {r.cloudlet for e in cloudlet.desired.endpoints for r in e.remotes if r.vtep != cloudlet.desired.vtep}
        speaking = {protected.name for protected in cloudlet.desired.protected}
        found = {tunnel.cloudlet: tunnel for tunnel in ipsec.tunnels}
        for peer in sorted(remotes | speaking):
            tunnel = found.get(peer)
            if tunnel is not None and (tunnel.state == "up" or tunnel.age < MAKING):
                continue
            state = tunnel.state if tunnel is not None else "none"
            why = f": {tunnel.why}" if tunnel is not None and tunnel.why else ""
            if peer in known - encrypts:
                why += f"; {peer} does not say that it encrypts"
            what = "with which it shares a pool" if peer in remotes else "and BGP with it goes through one"
            text = f"{name} has no encrypted tunnel to {peer}, {what}{why}."
            yield Difference(DifferenceKind.TUNNEL_IN_THE_CLEAR, where, f"tunnel to {peer}", "up", state, text)
