"""The door to nfpm, which packs a root as a Debian package."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from controller.wire.templates import written
from deploy.packages.command import output
from deploy.packages.package import PREFIX, Package
from deploy.packages.target import Target
from deploy.packages.version import Version

MAINTAINER = "Weft developers <developers@weft.invalid>"
_SCRIPTS = {"preinstall": "preinst", "postinstall": "postinst", "preremove": "prerm", "postremove": "postrm"}


def file_name(package: Package, target: Target, version: Version) -> str:
    """Return the name of a package's file, as apt expects it."""
    release, architecture = (None, "all") if package.anywhere else (target.release, target.architecture)
    return f"{package.name}_{version.upstream}-{version.revision(release)}_{architecture}.deb"


def pack(package: Package, target: Target, version: Version, root: Path, into: Path, seconds: int) -> Path:
    """Write the package of a root into a folder; all its files have the time `seconds`, since 1970. The same root gives
    the same bytes. Raises NotBuilt."""
    scripts = _scripts(package, root.parent / "scripts")
    described = root.parent / "nfpm.yaml"
    described.write_text(json.dumps(_described(package, target, version, root, scripts, seconds), indent=1))
    into.mkdir(parents=True, exist_ok=True)
    path = into / file_name(package, target, version)
    argv: list[str | Path] = ["nfpm", "package", "--packager", "deb", "--config", described, "--target", path]
    output(argv, root, {"SOURCE_DATE_EPOCH": str(seconds)})
    return path


def maintainer_script(package: Package, name: str) -> str:
    """Return the text of one of dpkg's scripts for a package: preinst, postinst, prerm or postrm (deb-postinst(5))."""
    folder = package.environment.folder if package.environment is not None else None
    return written("deploy.packages", f"templates/{name}.j2", of=package, folder=folder, prefix=PREFIX)


def _scripts(package: Package, into: Path) -> dict[str, str]:
    into.mkdir()
    found = {}
    for kind, name in _SCRIPTS.items():
        (into / name).write_text(maintainer_script(package, name))
        found[kind] = str(into / name)
    return found


def _described(
    package: Package, target: Target, version: Version, root: Path, scripts: dict[str, str], seconds: int
) -> dict[str, Any]:
    return {
        "name": package.name,
        "arch": "all" if package.anywhere else target.architecture,
        "platform": "linux",
        "version": version.upstream,
        "version_schema": "none",
        "release": version.revision(None if package.anywhere else target.release),
        "section": package.section,
        "priority": "optional",
        "maintainer": MAINTAINER,
        "license": "Apache-2.0",
        "description": f"{package.summary}\n{package.description}",
        "mtime": datetime.fromtimestamp(seconds, UTC).isoformat(),
        "depends": package.needs(target),
        "recommends": list(package.recommends),
        "suggests": list(package.suggests),
        "contents": list(_contents(root)),
        "scripts": scripts,
        "deb": {"compression": "zstd"},
    }


def _contents(root: Path) -> list[dict[str, Any]]:
    """Return the files of a root for nfpm."""
    found: list[dict[str, Any]] = []
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root)
        to = {"dst": f"/{inside}"}
        if path.is_symlink():
            found.append({**to, "src": str(path.readlink()), "type": "symlink"})
        elif path.is_file():
            found.append({**to, "src": str(path), "file_info": {"mode": path.stat().st_mode & 0o777}})
    return found
