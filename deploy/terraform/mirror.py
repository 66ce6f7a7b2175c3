"""A filesystem mirror: the folder from which Terraform and OpenTofu install a provider, with an archive for each
platform. The same files give the same archive, byte by byte."""

import hashlib
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

from deploy.packages.version import Version

SOURCE = "weft.internal/weft/weft"
"""The provider's source address. Its host has a dot and does not exist, so that neither program asks a registry."""

PROGRAM = "terraform-provider-weft"
PLATFORMS = ("linux_amd64", "linux_arm64", "darwin_arm64")
SUMS = "SHA256SUMS"

_MODE = {True: 0o100755, False: 0o100644}


def semantic(version: Version) -> str:
    """Return a version in the form that Terraform takes (semver.org): 1.2.3.dev4+g0123abc is 1.2.3-dev4 there."""
    return version.python.partition("+")[0].replace(".dev", "-dev")


def pack(mirror: Path, version: str, platform: str, files: Mapping[str, Path], seconds: int) -> Path:
    """Add the archive of a platform to a mirror, and return its path. `files` are those of the archive by their names,
    the program among them, and `seconds` (since 1970) is the time of all."""
    into = mirror / SOURCE
    into.mkdir(parents=True, exist_ok=True)
    path = into / f"{PROGRAM}_{version}_{platform}.zip"
    when = time.gmtime(seconds)[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, source in sorted(files.items()):
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = _MODE[name.startswith(PROGRAM)] << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, source.read_bytes())
    return path


def program(version: str) -> str:
    """Return the name of the program in an archive, by which Terraform finds it."""
    return f"{PROGRAM}_v{version}"


def checksums(mirror: Path) -> None:
    """Write SHA256SUMS of all archives, for `sha256sum --check`."""
    archives = sorted((mirror / SOURCE).glob("*.zip"))
    lines = [f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.relative_to(mirror)}\n" for one in archives]
    (mirror / SUMS).write_text("".join(lines))
