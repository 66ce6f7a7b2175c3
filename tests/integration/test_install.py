"""docs/operate/install.md: its commands, as they stand there, on four hosts with systemd that have nothing but Debian;
then an upgrade of the region's packages under traffic, and the way back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.packages import version
from lab.paths import ROOT
from lab.ping import PingStream
from tests.integration.installing import STEPS, change, follow, pin, said
from tests.integration.towns import Town, build, signing_key, towns

pytestmark = pytest.mark.lab

PAGE = ROOT / "docs/operate/install.md"


@pytest.fixture(scope="module")
def present() -> version.Version:
    """The version of this tree's packages, whatever is committed meanwhile."""
    return version.of_tree(ROOT)


@pytest.fixture(scope="module")
def following(present: version.Version) -> version.Version:
    """The next minor release, in which packages have the same programs: releases that work together are consecutive."""
    major, minor = present.python.split(".")[:2]
    return version.Version(f"{major}.{int(minor) + 1}.0")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory, present: version.Version, following: version.Version) -> Path:
    """A repository with this tree's packages in two versions."""
    folder = tmp_path_factory.mktemp("packages")
    with signing_key(folder), pytest.MonkeyPatch.context() as patch:
        patch.setattr(version, "of_tree", lambda root: present)
        build(folder)
        patch.setattr(version, "of_tree", lambda root: following)
        return build(folder)


@pytest.fixture(scope="module")
def region(
    tmp_path_factory: pytest.TempPathFactory, repository: Path, present: version.Version
) -> Iterator[dict[str, Town]]:
    """The region that the page leads to, with the earlier of the two versions."""
    with towns(tmp_path_factory.mktemp("towns"), repository) as hosts:
        for town in hosts.values():
            pin(town, f"{present.upstream}-*")
        follow(PAGE, hosts)
        yield hosts


def test_no_unit_has_failed(region: dict[str, Town]) -> None:
    for town in region.values():
        assert said(town, "systemctl --failed --plain --no-legend") == ""


def test_programs_have_manual_pages_and_one_version(region: dict[str, Town], present: version.Version) -> None:
    town = region["town1"]
    programs = ("weft", "weft-controller", "weft-agent", "weft-routeserver")
    versions = {said(town, f"{name} --version").split()[-1] for name in programs}
    assert versions == {present.python}
    for name in programs:
        assert said(town, f"ls /usr/share/man/man[18]/{name}.[18].gz")


def test_only_root_and_weft_read_secrets(region: dict[str, Town]) -> None:
    open_ = said(region["town1"], "find /etc/weft /var/lib/weft /var/lib/weft-agent -type f -perm /o+r")
    assert open_ == ""


def test_a_backup_can_be_made_at_once(region: dict[str, Town]) -> None:
    said(region["town1"], "systemctl start weft-backup")
    assert said(region["town1"], "ls /var/lib/weft-backups").startswith("weft-")


def test_an_upgrade_and_the_way_back_lose_nothing(
    region: dict[str, Town], present: version.Version, following: version.Version
) -> None:
    begun = "systemctl show --property ActiveEnterTimestampMonotonic --value weft-gobgpd"
    speaker = said(region["town1"], begun)
    with PingStream("town1", "10.2.0.1", 0.01, source="10.1.0.1") as stream:
        for wanted, steps in ((following, STEPS), (present, STEPS[::-1])):
            for town in region.values():
                pin(town, f"{wanted.upstream}-*")
            change(region, steps)
            assert said(region["town1"], "weft-agent --version").split()[-1] == wanted.python
        result = stream.stop()
    assert result.sent > 1000 and result.lost == 0, f"{result.lost} of {result.sent}"
    assert said(region["town1"], begun) == speaker, "gobgpd is the same, and was not to be restarted"
    assert said(region["town1"], "weft doctor")
