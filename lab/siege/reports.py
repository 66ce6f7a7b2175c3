"""The reports of a hostile agent with valid credentials: in the right form, in a wrong one, large, and never twice the
same. Pure."""

import json
from collections.abc import Iterator, Sequence
from itertools import count, cycle, product
from typing import Any

from controller.wire.reports import LONGEST_PROBLEM, MOST, MOST_PROBLEMS
from lab.siege.bodies import SHAPES, twisted

ROUTES = (
    *("reports", "session-keys", "certificate", "neighbours", "moves", "access", "sightings"),
    *("leases", "leases/exchange", "leases/release"),
)
"""The routes below `/api/v1/agent/` to which agents may post."""

LARGE = 3_000_000
"""Octets of a body, out of the 4 MiB that an agent's may have."""

ROUTES_TOLD = [f"10.{at >> 8}.{at & 255}.0/24" for at in range(MOST)]

Post = tuple[str, str, bytes]
"""Its name, its route, and its body."""


def alternating(cloudlet: str, endpoint: str) -> Iterator[Post]:
    """Yield reports with another problem, tunnel and session state each time."""
    for number in count():
        problem = f"problem {number} of one kind, then of another" if number % 2 else ""
        yield "alternating reports", "reports", json.dumps(_report(cloudlet, endpoint, [problem] * 3)).encode()


def large(cloudlet: str, endpoint: str) -> Iterator[Post]:
    """Yield reports as large as their form allows, more than 2 MB, and sightings, measurements and keys by the
    thousand."""
    for number in count():
        problems = [f"{number} {at} ".ljust(LONGEST_PROBLEM, "x") for at in range(MOST_PROBLEMS)]
        report = _report(cloudlet, endpoint, problems, ROUTES_TOLD)
        yield "large reports", "reports", json.dumps(report).encode()
        seen = [
            {"endpoint": endpoint, "address": f"10.13.{at % 4}.{at % 250 + 1}", "how": "packet", "count": 1 + number}
            for at in range(500)
        ]
        yield "many sightings", "sightings", json.dumps({"cloudlet": cloudlet, "sightings": seen}).encode()
        rounds = [
            {
                "number": number * 1000 + at,
                "neighbour": f"c{at % 9}",
                "age": 0,
                "method": "icmp",
                "sent": 5,
                "received": 0,
            }
            for at in range(1000)
        ]
        measured = {"cloudlet": cloudlet, "run": f"run-{number}", "measurements": rounds}
        yield "many measurements", "neighbours", json.dumps(measured).encode()
        keys = {"cloudlet": cloudlet, "held": None, "seen": {f"rs{at}": "x" * 200 for at in range(1000)}}
        yield "many keys", "session-keys", json.dumps(keys).encode()


def misshapen() -> Iterator[Post]:
    """Yield the worst shapes of JSON, on every route."""
    for shape, route in cycle(product(SHAPES.values(), ROUTES)):
        yield "bodies of the worst shapes", route, shape(LARGE if route == "reports" else 200_000)


def odd(cloudlet: str, endpoint: str) -> Iterator[Post]:
    """Yield messages with something odd in one field, on every route."""
    messages: dict[str, dict[str, Any]] = {
        "reports": _report(cloudlet, endpoint, []),
        "session-keys": {"cloudlet": cloudlet, "held": None, "seen": {}},
        "certificate": {"csr": "x"},
        "neighbours": {"cloudlet": cloudlet, "run": "a", "dropped": 0, "measurements": []},
        "moves": {"cloudlet": cloudlet, "progress": [], "machines": []},
        "access": {"cloudlet": cloudlet, "lans": [], "counters": []},
        "sightings": {"cloudlet": cloudlet, "sightings": []},
        "leases": {"endpoint": endpoint, "mac": "02:00:5e:00:13:01", "client_id": None, "hostname": None},
        "leases/exchange": {"endpoint": endpoint, "run": "a", "number": 1},
        "leases/release": {"endpoint": endpoint, "address": "10.13.0.2", "mac": "02:00:5e:00:13:01"},
    }
    bodies = {route: twisted(message) for route, message in messages.items()}
    for route in cycle(ROUTES):
        yield "odd fields", route, next(bodies[route])


def _report(cloudlet: str, endpoint: str, problems: list[str], routes: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "cloudlet": cloudlet,
        "version": 1,
        "generation": 1,
        "agent_version": "0",
        "endpoints": [
            {"endpoint": endpoint, "bridge": "b", "ports": [], "tunnels": [], "routes": routes, "problems": problems}
        ],
        "speakers": [{"name": "rs1", "state": problems[0][:64] if problems else "idle"}],
        "resident_bytes": 1,
        "cpu_seconds": 1.0,
    }
