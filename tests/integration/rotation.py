"""A rotation of the encrypted region's certificates, and the sessions that must not restart meanwhile."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from agents.identity import x509
from agents.identity.identity import CERTIFICATE, CHAIN
from agents.ipsec import credentials
from agents.ipsec.connections import PROOF
from controller.trust.builtin import BuiltIn
from lab import daemons
from lab.paths import LAB
from lab.patience import until
from lab.plan import hosts
from lab.region import Region
from lab.rest import Rest
from tests.integration.encrypted_region import BOTH

AUTHORITY = LAB / "controller" / "authority"


@dataclass(frozen=True)
class Sessions:
    """The sessions that must not restart: the BGP sessions at the route servers, and the number of times that agents
    logged that their stream or a tunnel went up or down."""

    bgp: dict[tuple[str, str], str]
    streams: dict[str, int]
    tunnels: dict[str, int]


class Rotation:
    """The region, its authority and the credentials of its agents."""

    def __init__(self, region: Region, rest: Rest) -> None:
        self.region, self.rest = region, rest
        self.cloudlets = region.topology.cloudlets
        self.members = [*hosts(region.topology, region.plan), *self.cloudlets]

    def ca(self, *words: str) -> None:
        """Run a `ca` command as an operator does."""
        subprocess.run([sys.executable, "-m", "controller.main", "ca", *words, str(AUTHORITY)], check=True)

    def sessions(self) -> Sessions:
        servers = self.rest.get("/route-servers")["items"]
        bgp = {(s["name"], p["peer"]): f"{p['state']} {p['since']}" for s in servers for p in s["sessions"]}
        assert len(bgp) == 2 * len(self.cloudlets)
        logs = {member.name: (LAB / member.name / "agent.log").read_text() for member in self.members}
        streams, tunnels = (
            {name: len(re.findall(what, text)) for name, text in logs.items()}
            for what in ("controller: ", "tunnel to ")
        )
        assert min(streams.values()) > 0 and min(tunnels.values()) > 0, "this is how it is told"
        return Sessions(bgp, streams, tunnels)

    def identities(self) -> list[Path]:
        return [LAB / member.name / "state" / "identity" for member in self.members]

    def certificates(self) -> list[str]:
        return [(identity / CERTIFICATE).read_text() for identity in self.identities()]

    def issued(self) -> bool:
        """Return whether every agent has a certificate of the authority that issues now."""
        present = x509.first(BuiltIn.read(AUTHORITY).chain)
        return all(x509.first((identity / CHAIN).read_text()) == present for identity in self.identities())

    def trusting(self, number: int) -> bool:
        """Return whether every agent, and with it charon, trusts this number of authorities."""
        return all(len(credentials.read(identity).authorities) == number for identity in self.identities())

    def prove(self) -> None:
        """Make both ends of every tunnel authenticate again, beside the tunnel and with their present certificates, and
        make all keys again."""
        for one, other in sorted(BOTH):
            if one < other:
                self._prove(one, other)
                assert "rekey completed" in self._ask(one, "--rekey", "--ike", f"weft-{other}")
        for one, other in sorted(BOTH):
            assert "rekey completed" in self._ask(one, "--rekey", "--child", "vtep"), (one, other)

    def _prove(self, one: str, other: str) -> None:
        until(lambda: PROOF not in self._ask(one, "--list-sas"), "no proof of before", 20)
        said = self._ask(one, "--initiate", "--ike", f"{PROOF}{other}")
        assert f"{PROOF}{other}[" in said.partition("established")[0], said

    def numbers(self) -> dict[tuple[str, str], int]:
        """Return charon's number of the newest established IKE_SA, by both ends of a tunnel."""
        found = {}
        for one, other in BOTH:
            listed = re.findall(rf"weft-{other}: #(\d+), ESTABLISHED", self._ask(one, "--list-sas"))
            assert listed, (one, other)
            found[one, other] = max(map(int, listed))
        return found

    def _ask(self, cloudlet: str, *words: str) -> str:
        """Run swanctl at a cloudlet's charon; return its output."""
        vici = daemons.vici(next(c for c in self.cloudlets if c.name == cloudlet))
        command = ["swanctl", *words, "--uri", f"unix://{vici}"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
