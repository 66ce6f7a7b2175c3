"""Go programs of a package, compiled for an architecture, and the licences of the modules that are in them."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from deploy.packages.command import output
from deploy.packages.failure import NotBuilt
from deploy.packages.target import ARCHITECTURES
from deploy.packages.version import Version

_PACKAGES = {
    "weft-routeserver": ("routeserver", "./cmd/weft-routeserver"),
    "weft-transfer": ("agents/transfer", "./cmd/weft-transfer"),
    "weft-images": ("agents/transfer", "./cmd/weft-images"),
    "terraform-provider-weft": ("deploy/terraform", "./cmd/terraform-provider-weft"),
    "gobgpd": ("routeserver", "github.com/osrg/gobgp/v4/cmd/gobgpd"),
    "gobgp": ("routeserver", "github.com/osrg/gobgp/v4/cmd/gobgp"),
}
"""The Go module that each program is built in, and its Go package."""

_WITH_C = frozenset({"weft-transfer"})
"""Programs with libzstd in C. They are linked statically, so that they run on every release of Debian."""

_MODULE = re.compile(r"^\t(?:dep|=>)\t(\S+)\t(v\S+)", re.MULTILINE)
_LICENCES = re.compile(r"(?i)^(licen[cs]e|copying|notice)")


def build(
    repository: Path, names: Sequence[str], architecture: str, version: Version, into: Path, system: str = "linux"
) -> None:
    """Compile the programs into a folder, for an operating system as Go calls it. Raises NotBuilt."""
    into.mkdir(parents=True, exist_ok=True)
    for name in names:
        module, package = _PACKAGES[name]
        environment = {"CGO_ENABLED": "0", "GOOS": system, "GOARCH": architecture}
        flags, tags = "-s -w", "netgo,osusergo"
        if package.startswith("./"):  # others' programs stay the same from one version of ours to the next
            flags += f" -X main.version={version.python}"
        if name in _WITH_C:
            environment |= {"CGO_ENABLED": "1", "CC": _compiler(architecture)}
            flags += " -linkmode external -extldflags -static"
        argv: list[str | Path] = ["go", "build", "-trimpath", "-buildvcs=false", "-tags", tags, "-ldflags", flags]
        output([*argv, "-o", into / name, package], repository / module, environment)


def _compiler(architecture: str) -> str:
    """Return the C compiler for an architecture. Raises NotBuilt if it is not on this machine."""
    machine = ARCHITECTURES[architecture]
    compiler = f"{machine}-linux-gnu-gcc"
    if shutil.which(compiler) is None:
        needed = f"gcc-{machine.replace('_', '-')}-linux-gnu libc6-dev-{architecture}-cross"
        raise NotBuilt(f"{compiler} is not on this machine: apt-get install {needed}, or leave {architecture} out")
    return compiler


def modules(repository: Path, names: Sequence[str], folder: Path) -> dict[str, dict[str, str]]:
    """Return the versions of the modules in programs of a folder, by the Go module that each program is built in."""
    found: dict[str, dict[str, str]] = {}
    for name in names:
        said = output(["go", "version", "-m", folder / name], repository)
        found.setdefault(_PACKAGES[name][0], {}).update(dict(_MODULE.findall(said)))
    return found


def licences(repository: Path, of: dict[str, dict[str, str]], into: Path) -> None:
    """Copy the licences of modules into a folder, as most of them require. Raises NotBuilt if one has none."""
    for module, versions in of.items():
        for path, version in versions.items():
            if path.startswith("weft/"):
                continue
            source = output(["go", "list", "-m", "-f", "{{.Dir}}", f"{path}"], repository / module).strip()
            texts = [one for one in sorted(Path(source).iterdir()) if _LICENCES.match(one.name) and one.is_file()]
            if not texts:
                raise NotBuilt(f"Go module {path} {version} has no licence beside its code")
            for text in texts:
                to = into / path / text.name
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(text, to)
