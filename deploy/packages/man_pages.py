"""Manual pages and shell completion of the programs that a package installs."""

import gzip
import sys
from collections.abc import Mapping
from pathlib import Path

from deploy.packages.command import output
from deploy.packages.package import Package
from deploy.packages.version import Version
from deploy.reference.programs import page
from deploy.reference.roff import roff

SECTION = {"weft": 1}
DAEMONS = 8
"""The section of the manual for programs of the system's administrator."""

SHELLS = {
    "bash": "usr/share/bash-completion/completions/weft",
    "zsh": "usr/share/zsh/vendor-completions/_weft",
    "fish": "usr/share/fish/vendor_completions.d/weft.fish",
}


def install(package: Package, version: Version, go: Path, root: Path) -> None:
    """Write the pages of a package's commands, and `weft`'s completion, below a root."""
    for program in package.commands:
        section = SECTION.get(program, DAEMONS)
        text = roff(page(program, lambda name: output([go / name, "--help"], go)), section, version.python)
        path = root / f"usr/share/man/man{section}/{program}.{section}.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
    if "weft" in package.commands:
        for name, script in completions().items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(script)


def completions() -> Mapping[str, str]:
    """Return the completion scripts of `weft`, by the path at which each shell looks for its own."""
    weft = Path(sys.executable).with_name("weft")
    return {path: output([weft], weft.parent, {"_WEFT_COMPLETE": f"source_{shell}"}) for shell, path in SHELLS.items()}
