"""The distance between two cloudlets that a device can walk (Teka, equation 1).

A device that leaves one coverage has to be in the next, with an address, before TCP gives up: it can walk d = (RTO -
RTT/2 - T_IP) * V, with the defaults 780 s * 1.2 m/s = 936 m. Two cloudlets are near if they are at most coverage + d
apart."""

from controller.core.policy.model import Proximity
from controller.core.proximity.geodesic import Position, within


def reach(policy: Proximity, cloudlet: str, rtt_ms: float = 0.0) -> float:
    """Return coverage + d in metres, with the settings of this cloudlet's site. If the time is negative, d is 0."""
    site = policy.sites.get(cloudlet)
    if site is None:
        return policy.coverage_m + _walked(policy.rto_seconds, policy.address_seconds, policy.walking_speed, rtt_ms)
    return _or(site.coverage_m, policy.coverage_m) + _walked(
        _or(site.rto_seconds, policy.rto_seconds),
        _or(site.address_seconds, policy.address_seconds),
        _or(site.walking_speed, policy.walking_speed),
        rtt_ms,
    )


def _walked(rto: float, address: float, speed: float, rtt_ms: float) -> float:
    seconds = rto - rtt_ms / 2000 - address
    return seconds * speed if seconds > 0 else 0.0


def limit(policy: Proximity, a: str, b: str, rtt_ms: float = 0.0) -> float:
    """Return how far apart two cloudlets may be and still be near: the smaller of their reaches.

    The paper has one coverage for all. If two sites differ, a device has to manage the distance in either direction,
    since VMs of each member can move to the other: so both sites have to allow the distance. That is symmetric, and a
    site that claims a wide reach cannot draw in others that do not have it."""
    return min(reach(policy, a, rtt_ms), reach(policy, b, rtt_ms))


def near(
    policy: Proximity, a: tuple[str, Position | None], b: tuple[str, Position | None], rtt_ms: float = 0.0
) -> bool:
    """Return whether two cloudlets, by name and place, are near. A cloudlet without a known place is near to none."""
    if a[1] is None or b[1] is None:
        return False
    return within(a[1], b[1], limit(policy, a[0], b[0], rtt_ms))


def _or(own: float | None, common: float) -> float:
    return common if own is None else own
