"""A made-up country: towns of twenty cloudlets within a kilometre and a half, far from each other. Every cloudlet is an
EVPN site, since VE IDs end at 4,095, and has a LAN of 30 pairs and ten devices."""

import random
from hashlib import sha256
from ipaddress import IPv4Address
from math import cos, radians, sqrt

from controller.core.intent import Cloudlet, CloudletState, Endpoint, Intent
from controller.core.policy.model import PolicyVcp, Rules
from controller.core.proximity.placing import place
from controller.wire.flavours import Flavour

TOWN = 20
DEVICES = 10
GROUPS = 200
RULE = PolicyVcp("town", Flavour.EVPN, "", automatic=True)
RULES = Rules(vcps={RULE.name: RULE})
POLICY = "apiVersion: weft/v1\nvcps:\n  town: {flavour: evpn, automatic: proximity}\n"
PLANNED = POLICY + "".join(f"  group-{n}: {{flavour: evpn, select: {{group: g{n}}}}}\n" for n in range(GROUPS))
"""The policy that is planned: one more pool for every cloudlet, selected by label."""

DEGREE = 111_000
"""Metres in a degree of latitude, approximately."""


def name(number: int) -> str:
    return f"c{number:06}"


def credential(number: int) -> str:
    """Return the secret of an agent."""
    return f"credential-{number}"


def incarnation(number: int) -> str:
    """Return the id of an agent's memory of the addresses that it gives out."""
    return f"{number:032x}"


def mac_of(device: int) -> str:
    digits = f"{0x020000000000 + device:012x}"
    return ":".join(digits[i : i + 2] for i in range(0, 12, 2))


def vtep(number: int) -> str:
    return str(IPv4Address("100.64.0.0") + number + 256)


def prefix(number: int) -> str:
    return f"{IPv4Address('10.0.0.0') + number * 64}/26"


def location(number: int) -> tuple[float, float]:
    """Return the latitude and longitude of a cloudlet: the same for a number in every run."""
    chance = random.Random(number)
    town = number // TOWN
    north, east = divmod(town, 200)
    latitude = -55 + north * 0.1
    away, round_about = 1500 * sqrt(chance.random()), chance.random() * 6.28318
    y, x = away * cos(round_about), away * cos(round_about - 1.570796)
    return latitude + y / DEGREE, -170 + east * 0.2 + x / DEGREE / cos(radians(latitude))


def cloudlet(number: int) -> Cloudlet:
    latitude, longitude = location(number)
    digest = sha256(credential(number).encode()).hexdigest()
    labels = {"group": f"g{number % GROUPS}"}
    return Cloudlet(
        name(number), Flavour.EVPN, vtep(number), CloudletState.ACTIVE, digest, 1, labels, latitude, longitude
    )


def endpoint(number: int) -> Endpoint:
    lan = prefix(number)
    gateway = str(IPv4Address(lan.split("/")[0]) + 1)
    return Endpoint(f"{name(number)}-lan", name(number), 4096 + number, 1, lan, gateway, vni=10000)


def grown(intent: Intent, first: int, last: int) -> Intent:
    """Return the intent with the cloudlets from `first` up to but not including `last`, and their endpoints, in no
    pool."""
    made = {name(n): cloudlet(n) for n in range(first, last)}
    endpoints = {e.name: e for e in map(endpoint, range(first, last))}
    return intent.but(cloudlets={**intent.cloudlets, **made}, endpoints={**intent.endpoints, **endpoints}, policy=RULES)


def placed(intent: Intent, numbers: range) -> Intent:
    """Return the intent with all these cloudlets placed one after the other, as if they had enrolled in this order."""
    for number in numbers:
        intent = place(intent, RULE, f"{name(number)}-lan").intent
    return intent
