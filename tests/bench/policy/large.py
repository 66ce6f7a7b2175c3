"""A large region and a policy for it, bare and lived in. The names and the LANs are those of `tests.simulate.towns`, so
that its bulk filling gives every LAN its devices and their leases.

Bare: nobody but the cloudlets; half of the pools name their members, half select them by label, and one family is
placed by distance.

Lived in: ten leases at each LAN, and devices on their way; rules in a quarter of the pools, an address plan for every
fifth LAN with reservations and exclusions, some of them in the way of leases that are there, and two hundred tests of
all kinds.
"""

from collections.abc import Iterator
from ipaddress import IPv4Address

from controller.core.intent import Cloudlet, CloudletState, Endpoint, Intent
from controller.wire.flavours import Flavour
from tests.simulate.towns import name, prefix, vtep

MEMBERS = 10
CITIES, TIERS = 50, 4
EVERY = 5
"""One LAN of so many has an address plan of its own."""

TESTS = 200


def lan(number: int) -> str:
    """A cloudlet's endpoint."""
    return f"{name(number)}-lan"


def at(number: int, offset: int) -> str:
    """An address of a LAN."""
    return str(IPv4Address(prefix(number).split("/")[0]) + offset)


def inhabited(cloudlets: int) -> Intent:
    """Cloudlets with a LAN each, 400 m apart in rows of a hundred, that are 3 km from each other."""
    numbers = range(cloudlets)
    return Intent(
        cloudlets={
            name(n): Cloudlet(
                name(n),
                Flavour.VPLS,
                vtep(n),
                CloudletState.ACTIVE,
                labels={"city": f"k{n % CITIES}", "tier": str(n // CITIES % TIERS)},
                latitude=45 + n // 100 * 0.027,
                longitude=7 + n % 100 * 0.005,
            )
            for n in numbers
        },
        endpoints={lan(n): Endpoint(lan(n), name(n), n + 1, 1, prefix(n), at(n, 1)) for n in numbers},
    )


def policy(cloudlets: int, vcps: int, *, lived_in: bool) -> str:
    """Pools by name, pools by label, and a family; and all the rest."""
    lines = ["apiVersion: weft/v1", "vcps:"]
    for n in range(vcps // 2):
        lines += [f"  named-{n}:", f"    members: [{', '.join(lan(m) for m in members(n, cloudlets))}]"]
    for n in range(vcps - vcps // 2 - 1):
        lines += [f"  chosen-{n}:", f"    select: {{city: k{n % CITIES}, tier: '{n // CITIES % TIERS}'}}"]
    lines += ["  near:", "    select: {tier: '0'}", "    automatic: proximity"]
    if lived_in:
        lines += [*_access(vcps), *_addresses(cloudlets), "tests:", *_tests(cloudlets, vcps)]
    return "\n".join(lines) + "\n"


def members(pool: int, cloudlets: int) -> list[int]:
    """The cloudlets of a pool by name."""
    return [(pool * MEMBERS + k) % cloudlets for k in range(MEMBERS)]


def _access(vcps: int) -> Iterator[str]:
    yield "access:"
    for n in range(vcps // 4):
        yield f"  named-{n}:"
        yield "    - {name: web, action: accept, protocols: [tcp], ports: [80, 443]}"
        yield "    - {name: no-mail, action: drop, protocols: [tcp], ports: [25]}"


def _addresses(cloudlets: int) -> Iterator[str]:
    """Every tenth of these plans reserves an address that another device has a lease on."""
    yield "addresses:"
    yield "  lans:"
    for n in range(0, cloudlets, EVERY):
        taken = f", wall-{n}: {at(n, 8)}" if n % (10 * EVERY) == 0 else ""
        yield f"    {lan(n)}:"
        yield f"      reservations: {{till-{n}: {at(n, 50)}{taken}}}"
        yield f"      exclusions: [{at(n, 52)}-{at(n, 57)}]"


def _tests(cloudlets: int, vcps: int) -> Iterator[str]:
    """Half of them of who reaches whom, a fifth of who does not, a fifth of addresses, a tenth of places and moves."""
    for i in range(TESTS // 2):
        one, other, *_ = members(i % (vcps // 2), cloudlets)
        port = ", protocol: tcp, port: 443" if i % 2 else ""
        yield f"  - {{name: web {i}, reachable: {{from: {lan(one)}, to: {lan(other)}{port}}}}}"
    strangers = [(n, n + MEMBERS) for n in range(0, cloudlets - MEMBERS, MEMBERS) if n // CITIES % TIERS]
    for i in range(TESTS // 5):
        one, other = strangers[i % len(strangers)]
        yield f"  - {{name: apart {i}, isolated: {{from: {lan(one)}, to: {lan(other)}}}}}"
        n = i * EVERY % cloudlets
        pair = f"md: {at(n, 50)}, vm: {at(n, 51)}"
        yield f"  - {{name: till {i}, address: {{lan: {lan(n)}, prefix: {prefix(n)}, device: till-{n}, {pair}}}}}"
    for i in range(TESTS // 20):
        one = i % (cloudlets - 1)
        yield f"  - {{name: near {i}, neighbour: {{from: {name(one)}, to: {name(one + 1)}, is: near}}}}"
        yield f"  - {{name: follows {i}, move: {{rtt_ms: {20 + i}, profile: {{memory_mb: 512}}, is: move}}}}"
