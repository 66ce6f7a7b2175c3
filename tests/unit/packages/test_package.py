"""The packages are complete: every unit is in one, every file is there, no two packages have the same file."""

import re
import subprocess
import tomllib
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from controller.settings import Settings
from deploy.packages.deb import file_name, maintainer_script
from deploy.packages.package import AGENT, CLI, GUEST, PACKAGES, PREFIX, Package
from deploy.packages.target import ARCHITECTURES, RELEASES, Target
from deploy.packages.version import Version
from lab.paths import ROOT
from tests import sandbox

EACH = pytest.mark.parametrize("package", PACKAGES.values(), ids=PACKAGES.keys())
SCRIPTS = ("preinst", "postinst", "prerm", "postrm")
TARGET = Target(RELEASES["bookworm"], "arm64")


@EACH
def test_its_files_are_there(package: Package) -> None:
    for source in package.files.values():
        assert (ROOT / source).is_file(), source


@EACH
def test_its_units_are_among_its_files(package: Package) -> None:
    installed = {Path(to).name for to in package.files if "systemd/system" in to}
    assert installed == set(package.units)
    assert {*package.restarted, *package.kept} <= installed


@EACH
def test_an_upgrade_leaves_the_settings_alone(package: Package) -> None:
    """dpkg would ask about a file below /etc that the operator and a later version have changed, and fail without a
    terminal."""
    assert not [to for to in package.files if to.startswith("etc/")]
    if package.settings is not None:
        assert f"usr/share/{package.name}/{package.settings}" in package.files


def test_every_unit_is_in_a_package() -> None:
    units = {path.name for path in (ROOT / "deploy/systemd").glob("*.[st]*") if path.suffix in (".service", ".timer")}
    assert units <= {unit for package in PACKAGES.values() for unit in package.units}


def test_no_two_packages_have_the_same_file() -> None:
    names = [to for package in PACKAGES.values() for to in package.files]
    names += [f"usr/bin/{name}" for package in PACKAGES.values() for name in package.programs]
    assert [name for name, count in Counter(names).items() if count > 1] == []


@EACH
def test_units_start_what_packages_install(package: Package) -> None:
    installed = {f"/{to}" for to in package.files} | {f"{PREFIX}/bin/{name}" for name in package.own}
    installed |= {f"/usr/bin/{name}" for name in package.programs} | {f"/etc/weft/{package.settings}"}
    if package.environment is not None:
        installed |= {f"/usr/bin/{name}" for name in package.environment.scripts}
    for to, source in package.files.items():
        if to.endswith(".service"):
            unit = sandbox.unit(ROOT / source)
            program = unit["ExecStart"][0].split()[0]
            assert program in installed or program == "/usr/lib/ipsec/charon", f"{source} starts {program}"
            for file in unit.get("EnvironmentFile", []):
                assert file in installed, f"{source} reads {file}"


def test_environments_have_the_programs_and_extras_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for package in PACKAGES.values():
        if package.environment is not None:
            for name, where in package.environment.scripts.items():
                assert project["scripts"][name] == where
            assert set(package.environment.extras) <= set(project["optional-dependencies"])


def test_a_package_without_programs_fits_everywhere() -> None:
    assert GUEST.anywhere and not AGENT.anywhere
    version = Version("1.2.3.dev4+gabcdef0")
    assert file_name(GUEST, TARGET, version) == "weft-guest_1.2.3~dev4+gabcdef0-1_all.deb"
    assert file_name(CLI, TARGET, version) == "weft-cli_1.2.3~dev4+gabcdef0-1~deb12_arm64.deb"


@EACH
@pytest.mark.parametrize("name", SCRIPTS)
def test_maintainer_scripts_are_clean(package: Package, name: str, tmp_path: Path) -> None:
    script = tmp_path / name
    script.write_text(maintainer_script(package, name))
    done = subprocess.run(["shellcheck", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_settings_of_the_controller_are_known() -> None:
    """Every setting in the file that the package installs, in use or in a comment, is one of the controller's."""
    text = (ROOT / "deploy/packages/files/controller.env").read_text()
    named = set(re.findall(r"^(?:# )?WEFT_(\w+)=", text, re.MULTILINE))
    assert "listen" in {name.lower() for name in named}
    assert {name.lower() for name in named} <= set(Settings.model_fields)


def test_the_settings_of_the_route_server_are_those_of_its_unit() -> None:
    unit = (ROOT / "deploy/systemd/weft-routeserver.service").read_text()
    text = (ROOT / "deploy/packages/files/routeserver.env").read_text()
    assert set(re.findall(r"^([A-Z]+)=", text, re.MULTILINE)) == set(re.findall(r"\$\{?([A-Z]{3,})\b(?!PID)", unit)) - {
        "MAINPID"
    }


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_wheels_are_for_the_target(name: str, architecture: str) -> None:
    target = Target(RELEASES[name], architecture)
    options = target.wheel_options()
    platforms = {after for before, after in pairwise(options) if before == "--platform"}
    assert all(platform.endswith(target.machine) for platform in platforms)
    assert f"manylinux_2_28_{target.machine}" in platforms
    needs = CLI.needs(target)
    assert f"python3 (>= {target.release.python})" in needs and f"python3 (<< {target.next_python})" in needs
