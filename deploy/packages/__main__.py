"""`make packages`. Exit codes: 0 all packages are built, 1 one could not be, 2 wrong usage."""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from deploy.manual.pages import NotMade
from deploy.manual.site import ZENSICAL
from deploy.manual.site import build as build_site
from deploy.packages import deb, repository, root, version
from deploy.packages.failure import NotBuilt
from deploy.packages.package import PACKAGES, Package
from deploy.packages.root import Build
from deploy.packages.target import ARCHITECTURES, RELEASES, Target

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Build packages, and the repository of them."""
    options = _parser().parse_args(arguments)
    targets = [Target(RELEASES[release], of) for release in options.release for of in options.architecture]
    try:
        present = version.of_tree(ROOT)
        print(f"== Weft {present.python}", flush=True)
        site = None
        if any(PACKAGES[name].site for name in options.package):
            site = options.output / "manual"
            build_site(ROOT, ZENSICAL, present.python, site)
        built = Build(ROOT, present, version.commit_time(ROOT), ROOT / "build/bin", site)
        to = options.output / "repository"
        for name in options.package:
            _build(built, PACKAGES[name], targets, to / "pool")
        signed = repository.index(to, built.seconds)
        repository.checksums(to)
    except (NotBuilt, NotMade) as error:
        print(f"packages: {error}", file=sys.stderr)
        return 1
    print(f"== {to}: " + ("signed" if signed else f"not signed, since {repository.SIGNING_KEY} names no key"))
    return 0


def _build(built: Build, package: Package, targets: Sequence[Target], pool: Path) -> None:
    """Build a package for all targets, into the pool of each release. One that fits everywhere is built once."""
    made: Path | None = None
    for target in targets:
        into = pool / target.release.name
        if package.anywhere and made is not None:
            if made.parent != into:
                into.mkdir(parents=True, exist_ok=True)
                shutil.copy2(made, into / made.name)
            continue
        with tempfile.TemporaryDirectory(prefix="weft-packages-") as temporary:
            tree = Path(temporary) / "root"
            tree.mkdir()
            root.fill(built, package, target, tree)
            made = deb.pack(package, target, built.version, tree, into, built.seconds)
        print(f"   {made.name}  {made.stat().st_size / 1e6:.1f} MB", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make packages", description="Debian packages of Weft, and a repository.")
    add = parser.add_argument
    add("--release", nargs="+", choices=RELEASES, default=list(RELEASES), help="releases of Debian (all)")
    add("--architecture", nargs="+", choices=ARCHITECTURES, default=list(ARCHITECTURES), help="architectures (all)")
    add("--package", nargs="+", choices=PACKAGES, default=list(PACKAGES), help="packages (all)")
    add("--output", type=Path, default=ROOT / "build/packages", help="a folder (build/packages)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
