"""A small region for policies: seven cloudlets in Turin, each with one LAN."""

from dataclasses import replace

from controller.core import edits
from controller.core.intent import Cloudlet, CloudletState, Endpoint, Intent
from controller.wire.flavours import Flavour

PLACES = {
    "c1": (45.0622, 7.6785),
    "c2": (45.0677, 7.6824),
    "c3": (45.0420, 7.6500),
    "c4": (45.0330, 7.6680),
    "c5": (45.1100, 7.7300),
    "c6": (45.0703, 7.6869),
    "c7": (45.0710, 7.6880),
}
LABELS = {
    "c1": {"site": "campus", "city": "turin"},
    "c2": {"site": "campus", "city": "turin"},
    "c3": {"gpu": "small", "floor": "2", "city": "turin"},
    "c5": {"gpu": "large", "floor": "1"},
}
TENANTS = {"c1": "university", "c2": "university", "c3": "city", "c4": "city"}


def turin() -> Intent:
    """Return the region: c1 to c5 are VPLS, c6 and c7 EVPN; the LAN of cN is cN-lan, 10.N.0.0/24."""
    intent = Intent()
    for number, (name, place) in enumerate(PLACES.items(), 1):
        flavour = Flavour.EVPN if number > 5 else Flavour.VPLS
        wanted = Cloudlet(name, flavour, f"192.0.2.{number}", labels=LABELS.get(name, {}))
        wanted = replace(wanted, latitude=place[0], longitude=place[1])
        intent = edits.set_state(edits.add_cloudlet(intent, wanted, []), name, CloudletState.ACTIVE)
        lan = Endpoint(f"{name}-lan", name, 0, 0, f"10.{number}.0.0/24", "", tenant=TENANTS.get(name))
        lan = replace(lan, consented_by=f"token {lan.tenant}" if lan.tenant else None)
        intent = edits.add_endpoint(intent, lan, [])
    return intent
