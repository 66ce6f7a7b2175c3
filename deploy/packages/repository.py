"""A repository of packages for apt, as files: pool/ has the packages of each release, dists/ what apt reads about them.
Packages of earlier versions stay in the pool, for the way back."""

import gzip
import hashlib
import os
import shutil
from pathlib import Path

from deploy.packages.command import output
from deploy.packages.target import ARCHITECTURES, RELEASES

COMPONENT = "main"
KEY = "weft-archive-keyring.gpg"
"""The public key of the repository, for /usr/share/keyrings."""

SIGNING_KEY = "WEFT_SIGNING_KEY"
"""The variable that names a secret key of gpg's, by which the repository is signed."""


def index(repository: Path, seconds: int) -> bool:
    """Write what apt reads, and tell whether it is signed. Raises NotBuilt."""
    key = os.environ.get(SIGNING_KEY)
    if key:
        output(["gpg", "--batch", "--yes", "--export", "--output", repository / KEY, key], repository)
    for release in sorted(path.name for path in (repository / "pool").iterdir()):
        folder = repository / "dists" / release
        shutil.rmtree(folder, ignore_errors=True)
        for architecture in ARCHITECTURES:
            text = output(["apt-ftparchive", "--arch", architecture, "packages", f"pool/{release}"], repository)
            packages = folder / COMPONENT / f"binary-{architecture}"
            packages.mkdir(parents=True)
            (packages / "Packages").write_text(text)
            (packages / "Packages.gz").write_bytes(gzip.compress(text.encode(), mtime=seconds))
        (folder / "Release").write_text(_release(repository, release))
        if key:
            sign = ["gpg", "--batch", "--yes", "--local-user", key, "--output"]
            output([*sign, folder / "InRelease", "--clearsign", folder / "Release"], repository)
            output([*sign, folder / "Release.gpg", "--armor", "--detach-sign", folder / "Release"], repository)
    return bool(key)


def checksums(repository: Path) -> None:
    """Write SHA256SUMS of all packages, for `sha256sum --check`."""
    lines = []
    for path in sorted((repository / "pool").rglob("*.deb")):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        lines.append(f"{digest}  {path.relative_to(repository)}\n")
    (repository / "SHA256SUMS").write_text("".join(lines))


def _release(repository: Path, release: str) -> str:
    described = {
        "Origin": "Weft",
        "Label": "Weft",
        "Suite": release,
        "Codename": release,
        "Version": str(RELEASES[release].number),
        "Architectures": " ".join(ARCHITECTURES),
        "Components": COMPONENT,
        "Description": f"Weft for Debian {RELEASES[release].number}",
    }
    options = [
        word for name, value in described.items() for word in ("-o", f"APT::FTPArchive::Release::{name}={value}")
    ]
    return output(["apt-ftparchive", *options, "release", f"dists/{release}"], repository)
