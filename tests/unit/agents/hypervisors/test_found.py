"""Drivers by their entry points: a driver that cannot be loaded names the reason, and affects no other."""

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from agents.hypervisors.found import GROUP, Drivers
from agents.hypervisors.hypervisor import Attachment, HypervisorError, Refused, Site
from agents.hypervisors.simulated import SimulatedHypervisor
from agents.settings import HypervisorSettings
from controller.wire.machines import Disk, Machine

MACHINE = Machine(
    name="web", driver="simulated", image="debian", memory=1 << 28, macs=("02:00:00:00:00:0a", "02:00:00:00:00:0b")
)
HERE = "tests.unit.agents.hypervisors.test_found"


def breaks(site: Site) -> SimulatedHypervisor:
    raise ZeroDivisionError("by zero")


def cannot(site: Site) -> SimulatedHypervisor:
    raise HypervisorError("no KVM, no TCG")


class Told(SimulatedHypervisor):
    """A driver that keeps the paths it was given."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.site, self.paths = site, site.paths


def drivers(directory: Path, encrypted: bool = False, **settings: HypervisorSettings) -> Drivers:
    values = {
        "simulated": "agents.hypervisors.simulated:driver",
        "missing": "agents.hypervisors.there_is_none:driver",
        "told": f"{HERE}:Told",
        "breaks": f"{HERE}:breaks",
        "cannot": f"{HERE}:cannot",
    }
    points = [EntryPoint(name, value, GROUP) for name, value in values.items()]
    return Drivers("c1", directory, settings, points, encrypted)


async def test_one_that_works_is_loaded_once(tmp_path: Path) -> None:
    found = drivers(tmp_path)
    driver = await found.driver("simulated", "192.0.2.1")
    assert driver.capabilities.live and driver.capabilities.version.startswith("simulated")
    assert await found.driver("simulated", "192.0.2.1") is driver and [*found.loaded] == ["simulated"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("breaks", "cannot be loaded: ZeroDivisionError: by zero"),
        ("cannot", "cannot work here: no KVM, no TCG"),
        ("missing", "cannot be loaded: ModuleNotFoundError"),
        ("nobody", "there is no hypervisor driver nobody .*; there is breaks, cannot, missing, simulated, told"),
    ],
)
async def test_one_that_does_not_says_why(tmp_path: Path, name: str, said: str) -> None:
    found = drivers(tmp_path)
    with pytest.raises(Refused, match=said):
        await found.driver(name, "192.0.2.1")
    assert (await found.driver("simulated", "192.0.2.1")).name == "simulated"


async def test_options_come_from_the_configuration(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no option colour"):
        await drivers(tmp_path, simulated=HypervisorSettings(options={"colour": "red"})).driver("simulated", "::1")
    with pytest.raises(Refused, match="option bandwidth cannot be 'much'"):
        await drivers(tmp_path, simulated=HypervisorSettings(options={"bandwidth": "much"})).driver("simulated", "::1")


async def test_expected_are_the_configured_and_those_that_worked_before(tmp_path: Path) -> None:
    assert not drivers(tmp_path).expected()
    await drivers(tmp_path).driver("simulated", "::1")
    (tmp_path / "uninstalled").mkdir()
    assert drivers(tmp_path, cannot=HypervisorSettings()).expected() == {"simulated", "cannot"}


def test_the_package_registers_its_drivers() -> None:
    project = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"][GROUP].keys() >= {"simulated", "qemu"}


@pytest.mark.parametrize("encrypted", [True, False])
async def test_paths_that_no_tunnel_covers_are_not_used_where_there_are_tunnels(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, encrypted: bool
) -> None:
    paths = HypervisorSettings(paths=("192.0.2.1", "198.51.100.1"))
    loaded = await drivers(tmp_path, encrypted, told=paths).driver("told", "192.0.2.1")
    assert isinstance(loaded.hypervisor, Told)
    assert loaded.hypervisor.paths == (("192.0.2.1",) if encrypted else ("192.0.2.1", "198.51.100.1"))
    assert ("not used as paths: 198.51.100.1" in caplog.text) is encrypted
    alone = HypervisorSettings(paths=("192.0.2.1",))
    caplog.clear()
    await drivers(tmp_path, encrypted, told=alone).driver("told", "192.0.2.1")
    assert "not used" not in caplog.text


async def test_a_driver_hears_of_another_address(tmp_path: Path) -> None:
    found = drivers(tmp_path, told=HypervisorSettings())
    driver = await found.driver("told", "192.0.2.1")
    assert isinstance(driver.hypervisor, Told) and driver.hypervisor.site.addresses == ["192.0.2.1"]
    assert await found.driver("told", "192.0.2.77") is driver, "it keeps its machines"
    assert driver.hypervisor.site.addresses == ["192.0.2.77"]


async def test_no_image_counts_as_unused_before_every_driver_has_said_so(tmp_path: Path) -> None:
    found = drivers(tmp_path, simulated=HypervisorSettings())
    assert found.images() is None, "not loaded yet"
    await found.driver("simulated", "192.0.2.1")
    assert found.images() == frozenset()
    hypervisor = found.loaded["simulated"].hypervisor
    disk = Disk(base="debian-disk", bytes=1 << 30)
    await hypervisor.start(MACHINE.model_copy(update={"disk": disk}), Attachment("b", 1500), "a")
    assert found.images() == frozenset({"debian", "debian-disk"})
