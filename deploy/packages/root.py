"""The root of a package: every file that it installs."""

import gzip
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from deploy.manual.assets import ASSETS, Asset
from deploy.packages import go_programs, man_pages, python_environment
from deploy.packages.bill import bill
from deploy.packages.package import PREFIX, Package
from deploy.packages.target import Target
from deploy.packages.version import Version

_COPYRIGHT = """Weft {version}

Licence: Apache-2.0, which is /usr/share/common-licenses/Apache-2.0 on Debian.

Third-party parts keep their own licences. sbom.json beside this file lists them with their versions. Python's have
theirs in the folders *.dist-info of {prefix}, and Go's in licences/ beside this file. Scripts and styles of the manual,
where a package has it, have theirs in manual/assets/javascripts.
"""


@dataclass(frozen=True)
class Build:
    """The sources of all packages of a run: the repository, its version, the time of its commit in seconds since
    1970, a folder with the Go programs of this machine, and the manual as a site, if a package of the run has it."""

    repository: Path
    version: Version
    seconds: int
    programs: Path
    site: Path | None


def fill(build: Build, package: Package, target: Target, root: Path) -> None:
    """Put the files of a package into an empty root. Raises NotBuilt."""
    site = None
    if package.environment is not None:
        site = python_environment.make(build.repository, package.environment, target, build.version, root)
        for name in package.environment.scripts:
            _link(root / "usr/bin" / name, f"{PREFIX}/{package.environment.folder}/bin/{name}")
    modules = _programs(build, package, target, root)
    for to, source in package.files.items():
        (root / to).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(build.repository / source, root / to)
    man_pages.install(package, build.version, build.programs, root)
    documents = root / "usr/share/doc" / package.name
    documents.mkdir(parents=True, exist_ok=True)
    assets: tuple[Asset, ...] = ()
    if package.site is not None and build.site is not None:
        shutil.copytree(build.site, root / package.site)
        _link(documents / "manual", f"/{package.site}")
        assets = ASSETS
    (documents / "copyright").write_text(_COPYRIGHT.format(version=build.version.python, prefix=PREFIX))
    (documents / "changelog.gz").write_bytes(
        gzip.compress((build.repository / "CHANGELOG.md").read_bytes(), mtime=build.seconds)
    )
    all_modules = {path: version for versions in modules.values() for path, version in versions.items()}
    (documents / "sbom.json").write_text(bill(package.name, build.version, site, all_modules, assets, build.seconds))
    go_programs.licences(build.repository, modules, documents / "licences")
    for path in [root, *root.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
            os.utime(path, (build.seconds, build.seconds))


def _programs(build: Build, package: Package, target: Target, root: Path) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for names, folder in ((package.programs, root / "usr/bin"), (package.own, root / PREFIX[1:] / "bin")):
        if names:
            go_programs.build(build.repository, names, target.architecture, build.version, folder)
            for module, versions in go_programs.modules(build.repository, names, folder).items():
                found.setdefault(module, {}).update(versions)
    return found


def _link(path: Path, to: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(to)
