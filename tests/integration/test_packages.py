"""The packages of this tree: complete, the same from the same commit, and signed."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from deploy.packages import version
from deploy.packages.package import PACKAGES
from deploy.packages.target import ARCHITECTURES
from lab.paths import ROOT
from tests.integration.towns import architecture, build, release, signing_key

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages")
    with signing_key(folder):
        return build(folder)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """A folder with what all packages install."""
    root = tmp_path_factory.mktemp("unpacked")
    for package in repository.glob("pool/*/*.deb"):
        subprocess.run(["dpkg-deb", "--extract", package, root], check=True)
    return root


def field(package: Path, name: str) -> str:
    done = subprocess.run(["dpkg-deb", "--field", package, name], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.smoke
def test_one_package_is_built(tmp_path: Path) -> None:
    """The guest's, in a second: nothing of it is compiled, or comes from a package index."""
    with signing_key(tmp_path):
        repository = build(tmp_path, "--package", "weft-guest")
    [package] = repository.glob(f"pool/{release()}/*.deb")
    assert field(package, "Version").startswith(version.of_tree(ROOT).upstream)
    assert field(package, "Architecture") == "all"
    assert (repository / f"dists/{release()}/InRelease").is_file()
    assert package.name in (repository / f"dists/{release()}/main/binary-{architecture()}/Packages").read_text()


def test_each_package_is_there_with_its_checksum(repository: Path) -> None:
    there = {field(path, "Package") for path in repository.glob(f"pool/{release()}/*.deb")}
    assert there == PACKAGES.keys()
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=repository, check=True)


def test_every_module_of_an_environment_can_be_imported(unpacked: Path) -> None:
    """An environment has all that its own programs import, and imports nothing from beside it; libvirt's driver alone
    needs Debian's own package."""
    for package in PACKAGES.values():
        if package.environment is None:
            continue
        [site] = (unpacked / "usr/lib/weft" / package.environment.folder).glob("lib/python3.*/site-packages")
        modules = sorted(_modules(site, ("agents", "controller", "migrations")))
        assert len(modules) > 50
        code = f"import sys; sys.path.insert(0, {str(site)!r})\nimport importlib\n" + "".join(
            f"importlib.import_module({name!r})\n" for name in modules
        )
        python = f"/usr/bin/{site.parent.name}"
        done = subprocess.run([python, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{package.name}: {done.stderr[-1500:]}"


def test_an_environment_has_every_file_of_its_sources(unpacked: Path) -> None:
    """Schemas, templates and the like go into the wheel as well as modules."""
    for package in PACKAGES.values():
        if package.environment is None:
            continue
        [site] = (unpacked / "usr/lib/weft" / package.environment.folder).glob("lib/python3.*/site-packages")
        command = ["git", "ls-files", "-z", "--", *package.environment.sources]
        named = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
        wanted = {name for name in named if Path(name).suffix not in ("", ".md", ".go", ".mod", ".sum", ".c")}
        missing = {name for name in wanted if not (site / name).exists() and "/testdata/" not in name}
        assert missing - SPARE == set(), package.name


SPARE = {"policies/examples"}
"""Files that a repository has for its readers."""


def test_the_controller_has_the_manual(unpacked: Path) -> None:
    manual = unpacked / "usr/share/weft-controller/manual"
    assert {"index.html", "search.json", "operate", "assets"} <= {path.name for path in manual.iterdir()}
    assert (unpacked / "usr/share/doc/weft-controller/manual").readlink() == Path("/usr/share/weft-controller/manual")
    bill = json.loads((unpacked / "usr/share/doc/weft-controller/sbom.json").read_text())
    assert {"zensical", "iframe-worker"} <= {one["name"] for one in bill["components"]}


def test_bills_of_materials_are_cyclonedx(unpacked: Path) -> None:
    for name in PACKAGES:
        bill = json.loads((unpacked / f"usr/share/doc/{name}/sbom.json").read_text())
        assert bill["bomFormat"] == "CycloneDX" and bill["metadata"]["component"]["name"] == name
        there = {one["bom-ref"] for one in bill["components"]}
        assert set(bill["dependencies"][0]["dependsOn"]) == there
    parts = {one["name"] for one in bill["components"]}
    assert not parts, "weft-guest is a script"


def test_the_same_commit_gives_the_same_packages(repository: Path, tmp_path: Path) -> None:
    again = build(tmp_path, "--package", "weft-cli", "weft-routeserver", "weft-guest")
    before = dict(line.split()[::-1] for line in (repository / "SHA256SUMS").read_text().splitlines())
    for line in (again / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert before[name] == digest, f"{name} differs from one build to the next"


def _modules(site: Path, packages: tuple[str, ...]) -> list[str]:
    found = []
    for package in packages:
        for path in (site / package).rglob("*.py"):
            parts = path.relative_to(site).with_suffix("").parts
            if not {"versions", "libvirt"} & set(parts) and parts[-1] not in ("__main__", "env"):
                found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


_NEEDS_C = "github.com/DataDog/zstd"


@pytest.mark.parametrize("module", ["routeserver", "agents/transfer", "deploy/terraform"])
def test_go_code_fits_every_architecture(module: str) -> None:
    """Types of system calls differ by architecture. Code that needs a C compiler for another one is left out here."""
    for other in ARCHITECTURES:
        environment = os.environ | {"GOARCH": other, "CGO_ENABLED": "0"}
        listing = ["go", "list", "-e", "-f", '{{.ImportPath}} {{join .Deps ","}}', "./..."]
        found = subprocess.run(listing, cwd=ROOT / module, env=environment, capture_output=True, text=True, check=True)
        lines = [line.split(" ") for line in found.stdout.splitlines()]
        names = [name for name, needs in lines if _NEEDS_C not in needs.split(",")]
        assert len(names) > 5, found.stderr
        done = subprocess.run(
            ["go", "vet", *names], cwd=ROOT / module, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{other}: {done.stderr}"
