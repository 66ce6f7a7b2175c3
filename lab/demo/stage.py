"""The stage that every scene uses."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from lab.demo.verdict import Verdict
from lab.paths import SOCKET
from lab.region import Region
from lab.rest import Rest
from lab.topology import Cloudlet, Station


@dataclass(frozen=True)
class Stage:
    """The region, an operator's REST client, and the verdict."""

    region: Region
    rest: Rest
    verdict: Verdict

    def title(self, text: str) -> None:
        print(f"\n== {text}", flush=True)

    def note(self, text: str) -> None:
        print(f"   {text}", flush=True)

    def weft(self, *arguments: str, show: bool = True) -> "subprocess.CompletedProcess[str]":
        """Run the `weft` command as an operator would, and show its output."""
        if show:
            print(f"   $ weft {' '.join(arguments)}", flush=True)
        done = subprocess.run(
            [str(Path(sys.executable).with_name("weft")), "--url", f"unix://{SOCKET}", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        if show:
            for line in (done.stdout + done.stderr).splitlines():
                print(f"   {line}")
        return done

    def pools(self) -> dict[str, list[str]]:
        """Return the members by VCP, as the controller has them now."""
        return {vcp["name"]: list(vcp["members"]) for vcp in self.rest.items("/vcps")}

    def stations(self, endpoint: str) -> list[Station]:
        """Return the devices and VMs behind an endpoint."""
        return [station for _, station in self.region.topology.stations if station.endpoint == endpoint]

    def cloudlet(self, endpoint: str) -> Cloudlet:
        """Return the cloudlet that has an endpoint."""
        return next(
            cloudlet
            for cloudlet in self.region.topology.cloudlets
            if endpoint in {found.name for found in cloudlet.endpoints}
        )

    def device(self, endpoint: str) -> Station:
        return next(station for station in self.stations(endpoint) if station.works_for is None)

    def vm(self, endpoint: str) -> Station:
        return next(station for station in self.stations(endpoint) if station.works_for is not None)
