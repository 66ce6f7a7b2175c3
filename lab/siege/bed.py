"""The region that is attacked, its credentials, and the places of its parts."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lab.daemons import AGENT_PORT, BGP_PORT, REST_PORT
from lab.paths import LAB, ROOT
from lab.patience import until
from lab.process import stop
from lab.region import Region
from lab.rest import Json, Rest

TOPOLOGY = ROOT / "lab/topologies/siege.yaml"
PINGS = (("m1", "m2"), ("m2", "m1"), ("n1", "n2"), ("n2", "n1"))
"""The pairs of legitimate devices of which the first pings the second, all the time. The former two are in blue, the
latter in amber."""

GOOD = "c1"
"""The cloudlet whose agent's requests are timed."""

PE, DEVICE = "x1", "h2"
"""The hostile cloudlet, and the hostile device at c2."""

VICTIM = "c2"
"""The cloudlet whose LAN the hostile device is on."""

STRANGERS = "core"
"""The node that strangers and legitimate users share: they have one address."""


@dataclass(frozen=True)
class Bed:
    """The region, and an operator's REST client."""

    region: Region
    rest: Rest

    @classmethod
    @contextmanager
    def made(cls) -> Iterator["Bed"]:
        """Build the region, and remove it at the end."""
        region = Region.load(TOPOLOGY)
        with region.occupied(), Rest(timeout=60) as rest:
            for phase in (region.build, region.enrol, region.apply_policy, region.lease):
                phase(print)
            rest.post("/vcps", {"name": "green", "flavour": "vpls"})
            bed = cls(region, rest)
            for source, target in PINGS:
                until(partial(bed.reaches, source, target), f"{source} reaches {target}")
            yield bed

    def reaches(self, source: str, target: str) -> bool:
        """Return whether a device gets an answer from another."""
        words = ["ping", "-c", "1", "-W", "1", self.region.address(target)]
        return self.region.execute(source, words).returncode == 0

    def clear(self) -> None:
        """Stop the hostile cloudlet's own speaker, because the hostile PE speaks from its address."""
        stop(
            process
            for name, process in self.region.processes.items()
            if name.startswith(f"{PE}-") and "agent" not in name
        )

    @property
    def controller(self) -> str:
        """The controller's address."""
        return self.region.plan.loopbacks[self.region.topology.controller]

    @property
    def servers(self) -> list[str]:
        """The addresses at which the route servers speak BGP."""
        return [f"{self.region.plan.loopbacks[name]}:{BGP_PORT}" for name in self.region.topology.route_servers]

    @property
    def plain(self) -> int:
        return REST_PORT

    @property
    def tls(self) -> int:
        return AGENT_PORT

    def state(self, cloudlet: str) -> Path:
        """Return the directory of a cloudlet's agent."""
        return LAB / cloudlet / "state"

    def credential(self, cloudlet: str) -> str:
        """Return an agent's bearer token."""
        return str(json.loads((self.state(cloudlet) / "credential.json").read_text())["credential"])

    def endpoint(self, cloudlet: str) -> Json:
        """Return the first endpoint of a cloudlet, from its agent's desired state."""
        desired: dict[str, Any] = json.loads((self.state(cloudlet) / "desired.json").read_text())
        return dict(desired["endpoints"][0])


ROUTE_DISTINGUISHER, ROUTE_TARGET = b"\0\0", b"\0\2"
"""Type 0, with two octets of an AS number and four of the administrator's (RFC 4364, RFC 4360)."""


def octets(text: str, kind: bytes) -> str:
    """Return `65000:4098` as the eight octets of a route distinguisher or a route target, in hex."""
    asn, _, number = text.partition(":")
    return (kind + int(asn).to_bytes(2) + int(number).to_bytes(4)).hex()
