"""A large region and a policy for it, bare and lived in. The names and the LANs are those of `tests.simulate.towns`, so
that its bulk filling gives every LAN its devices and their leases.

Bare: there are only cloudlets. Half of the pools name their members, half select them by label, and one family is
placed by distance.

Lived in: each LAN has ten leases, and some devices are moving. A quarter of the pools have rules, and every fifth LAN
has an address plan with reservations and exclusions, some of which conflict with present leases. The policy has two
hundred tests of all kinds.
"""

from collections.abc import Iterator
from ipaddress import IPv4Address

from controller.core.intent import Cloudlet, CloudletState, Endpoint, Intent
from controller.wire.flavours import Flavour
from tests.simulate.towns import name, prefix, vtep

MEMBERS = 10
CITIES, TIERS = 50, 4
EVERY = 5
"""One LAN in this many has an address plan of its own."""

TESTS = 200


def lan(number: int) -> str:
    """Return the name of a cloudlet's endpoint."""
    return f"{name(number)}-lan"


def at(number: int, offset: int) -> str:
    """Return an address of a LAN."""
    return str(IPv4Address(prefix(number).split("/")[0]) + offset)


def inhabited(cloudlets: int) -> Intent:
    """Return an intent of cloudlets with a LAN each, 400 m apart in rows of a hundred; the rows are 3 km apart."""
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
    """Return the policy's text: pools by name, pools by label and a family, and in a lived-in region also the rest."""
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
    """Return the numbers of the cloudlets in a pool that names its members."""
    return [(pool * MEMBERS + k) % cloudlets for k in range(MEMBERS)]


def _access(vcps: int) -> Iterator[str]:
    yield "access:"
    for n in range(vcps // 4):
        yield f"  named-{n}:"
        yield "    - {name: web, action: accept, protocols: [tcp], ports: [80, 443]}"
        yield "    - {name: no-mail, action: drop, protocols: [tcp], ports: [25]}"


def _addresses(cloudlets: int) -> Iterator[str]:
    """Yield the lines of the address plans. Every tenth plan reserves an address that another device has leased."""
    yield "addresses:"
    yield "  lans:"
    for n in range(0, cloudlets, EVERY):
        taken = f", wall-{n}: {at(n, 8)}" if n % (10 * EVERY) == 0 else ""
        yield f"    {lan(n)}:"
        yield f"      reservations: {{till-{n}: {at(n, 50)}{taken}}}"
        yield f"      exclusions: [{at(n, 52)}-{at(n, 57)}]"


def _tests(cloudlets: int, vcps: int) -> Iterator[str]:
    """Yield the tests: half are about endpoints that reach each other, a fifth about endpoints that do not, a fifth
    about addresses, and a tenth about places and moves."""
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
