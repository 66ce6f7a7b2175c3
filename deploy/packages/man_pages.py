"""Manual pages and shell completion of the programs that a package installs."""

import gzip
import sys
from collections.abc import Mapping
from pathlib import Path

from deploy.packages.command import output
from deploy.packages.failure import NotBuilt
from deploy.packages.package import Package
from deploy.packages.version import Version
from deploy.reference import of_argparse, of_go, of_typer
from deploy.reference.command_page import CommandPage
from deploy.reference.roff import roff

SECTION = {"weft": 1}
DAEMONS = 8
"""The section of the manual for programs of the system's administrator."""

SHELLS = {
    "bash": "usr/share/bash-completion/completions/weft",
    "zsh": "usr/share/zsh/vendor-completions/_weft",
    "fish": "usr/share/fish/vendor_completions.d/weft.fish",
}


def page(program: str, go: Path) -> CommandPage:
    """Return the reference page of a program; Go programs are in the folder `go`. Raises NotBuilt."""
    if program == "weft":
        from controller.cli.main import app

        return of_typer.page(app, program, "joins cloudlets into Virtual Cloud Pools")
    if program == "weft-controller":
        from controller.main import parser as controller

        return of_argparse.page(controller(), "the controller of a region of cloudlets")
    if program == "weft-agent":
        from agents.main import parser as agent

        return of_argparse.page(agent(), "the agent of one cloudlet")
    if program == "weft-routeserver":
        said = output([go / program, "--help"], go)
        return of_go.page(program, "BGP route server of a region of cloudlets", said)
    raise NotBuilt(f"{program} has no manual page")


def install(package: Package, version: Version, go: Path, root: Path) -> None:
    """Write the pages of a package's commands, and `weft`'s completion, below a root."""
    for program in package.commands:
        section = SECTION.get(program, DAEMONS)
        text = roff(page(program, go), section, version.python)
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
