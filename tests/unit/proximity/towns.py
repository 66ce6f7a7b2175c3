"""Regions with places, for tests: cloudlets on a plane in metres around a point, each with one endpoint."""

from collections.abc import Iterable
from math import cos, degrees, radians

from controller.core.intent import Cloudlet, CloudletState, Endpoint, Intent, Vcp
from controller.core.policy.model import PolicyVcp, Proximity, Rules
from controller.wire.flavours import Flavour

FAMILY = PolicyVcp("town", Flavour.VPLS, automatic=True)
METRES = 6_371_000
NEAR = Proximity()
"""The paper's values: 100 m of coverage and 936 m on foot."""


def cloudlet(name: str, x: float, y: float, pe: Flavour = Flavour.VPLS) -> Cloudlet:
    """Return a cloudlet about `x` metres east and `y` metres north of 45 N, 7 E."""
    latitude = 45 + degrees(y / METRES)
    longitude = 7 + degrees(x / METRES / cos(radians(45)))
    vtep = f"192.0.{int(name[1:]) >> 8}.{int(name[1:]) & 255}"
    return Cloudlet(name, pe, vtep, CloudletState.ACTIVE, latitude=latitude, longitude=longitude)


def lan(name: str, prefix: str | None = None) -> Endpoint:
    number = int(name[1:])
    own = prefix or f"10.{number >> 8}.{number & 255}.0/24"
    return Endpoint(f"{name}-lan", name, number, 1, own, own.replace("0/24", "1"))


def town(at: Iterable[tuple[float, float]], proximity: Proximity = NEAR) -> Intent:
    """Return an intent of cloudlets c1, c2, … at these places, with endpoints c1-lan, c2-lan, …, and no pools."""
    sites = {f"c{number}": place for number, place in enumerate(at, 1)}
    return Intent(
        cloudlets={name: cloudlet(name, *place) for name, place in sites.items()},
        endpoints={f"{name}-lan": lan(name) for name in sites},
        policy=Rules(proximity=proximity, vcps={"town": FAMILY}),
    )


def pool(intent: Intent, name: str, *members: str) -> Intent:
    """Return the intent with a pool of the family."""
    return intent.with_vcp(Vcp(name, FAMILY.flavour, "", True, frozenset(f"{m}-lan" for m in members), "town"))
