"""Two releases with different programs, as packages: a region that stands on the earlier one by that one's own page is
upgraded under traffic, and goes back. WEFT_PACKAGES_FROM is the earlier release, a commit; it is built once."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.packages import version
from lab.ping import PingStream
from tests.integration.installing import STEPS, change, differing, follow, install, pin, said
from tests.integration.releases import checked_out, make
from tests.integration.towns import Town, architecture, build, release, signing_key, towns

pytestmark = [pytest.mark.lab, pytest.mark.nightly]

FROM = os.environ.get("WEFT_PACKAGES_FROM", "e9ba927")
"""By default the last commit before inventories, whose table a way back reverts."""

EARLIER, LATER = version.Version("0.1.0"), version.Version("0.2.0")
OFFLINE = "runuser -u weft -- weft-controller --env-file /etc/weft/controller.env"
REPLICAS = ("town2", "town1")
STATE = ("cloudlet list", "vcp list", "endpoint list", "lease list")


@pytest.fixture(scope="module")
def earlier() -> Path:
    """The folder of the earlier release, with its packages."""
    folder = checked_out(FROM, f"v{EARLIER.python}")
    if not (folder / "build/packages/repository").exists():
        make(folder, "packages", f"RELEASE={release()}", f"ARCH={architecture()}")
    return folder


@pytest.fixture(scope="module")
def repository(earlier: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with both releases' packages."""
    folder = tmp_path_factory.mktemp("packages")
    pool = folder / "repository/pool" / release()
    pool.mkdir(parents=True)
    for package in (earlier / "build/packages/repository/pool" / release()).glob(f"*_{EARLIER.upstream}-*.deb"):
        (pool / package.name).write_bytes(package.read_bytes())
    with signing_key(folder), pytest.MonkeyPatch.context() as patch:
        patch.setattr(version, "of_tree", lambda root: LATER)
        return build(folder)


@pytest.fixture(scope="module")
def region(earlier: Path, repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Town]]:
    """The region that the earlier release's page leads to."""
    with towns(tmp_path_factory.mktemp("towns"), repository) as hosts:
        for town in hosts.values():
            pin(town, f"{EARLIER.upstream}-*")
        follow(earlier / "docs/operate/install.md", hosts)
        yield hosts


def step(town: Town) -> str:
    """Return the step of the database that `weft-controller check` names."""
    found = json.loads(said(town, f"{OFFLINE} check --output json"))
    return next(str(one["said"]).split()[2].strip(",:") for one in found if one["said"].startswith("at step "))


def inventory(town: Town) -> dict[str, list[str]]:
    """Return the names of what the region has."""
    return {words: sorted(said(town, f"weft {words} --output name").splitlines()) for words in STATE}


def go_back(region: dict[str, Town], to: str) -> None:
    """Take agents, controllers and route servers back (docs/operate/upgrade.md): no controller works while the database
    goes back to the earlier one's step."""
    for town in region.values():
        pin(town, f"{EARLIER.upstream}-*")
    change(region, [one for one in STEPS[::-1] if "agent" in one[1]])
    for name in REPLICAS:
        said(region[name], "systemctl stop weft-controller")
    said(region["town1"], f"{OFFLINE} downgrade {to}")
    for name in REPLICAS:
        install(region[name], "weft-controller weft-cli")
        said(region[name], "systemctl start weft-controller")
    change(region, [one for one in STEPS[::-1] if "routeserver" in one[1]])


def test_an_upgrade_between_releases_and_the_way_back_lose_nothing(region: dict[str, Town]) -> None:
    town = region["town1"]
    assert said(town, "weft-agent --version").split()[-1] == EARLIER.python
    before, at = inventory(town), step(town)
    with PingStream("town1", "10.2.0.1", 0.01, source="10.1.0.1") as stream:
        for host in region.values():
            pin(host, f"{LATER.upstream}-*")
        change(region, STEPS)
        assert said(town, "weft-agent --version").split()[-1] == LATER.python
        assert inventory(town) == before and step(town) != at
        go_back(region, at)
        result = stream.stop()
    assert said(town, "weft-agent --version").split()[-1] == EARLIER.python
    assert inventory(town) == before and step(town) == at and differing(town) == set()
    assert result.sent > 1000 and result.lost == 0, f"{result.lost} of {result.sent}"
