"""`make terraform`. Exit codes: 0 the mirror is built, 1 it could not be, 2 wrong usage."""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from deploy.packages import go_programs, version
from deploy.packages.failure import NotBuilt
from deploy.packages.version import Version
from deploy.terraform import mirror

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the provider for all platforms, and the mirror of it."""
    options = _parser().parse_args(arguments)
    try:
        present, seconds = version.of_tree(ROOT), version.commit_time(ROOT)
        print(f"== Weft's provider {mirror.semantic(present)}", flush=True)
        shutil.rmtree(options.output / mirror.SOURCE, ignore_errors=True)
        for platform in options.platform:
            path = _build(options.output, present, platform, seconds)
            print(f"   {path.name}  {path.stat().st_size / 1e6:.1f} MB", flush=True)
    except NotBuilt as error:
        print(f"terraform: {error}", file=sys.stderr)
        return 1
    mirror.checksums(options.output)
    print(f"== {options.output}: a filesystem mirror, with {mirror.SUMS}")
    return 0


def _build(to: Path, present: Version, platform: str, seconds: int) -> Path:
    system, _, architecture = platform.partition("_")
    with tempfile.TemporaryDirectory(prefix="weft-terraform-") as temporary:
        folder = Path(temporary)
        go_programs.build(ROOT, [mirror.PROGRAM], architecture, present, folder / "bin", system)
        modules = go_programs.modules(ROOT, [mirror.PROGRAM], folder / "bin")
        go_programs.licences(ROOT, modules, folder / "licences")
        licences = (path for path in (folder / "licences").rglob("*") if path.is_file())
        files = {path.relative_to(folder).as_posix(): path for path in licences} | {"LICENSE": ROOT / "LICENSE"}
        files[mirror.program(mirror.semantic(present))] = folder / "bin" / mirror.PROGRAM
        return mirror.pack(to, mirror.semantic(present), platform, files, seconds)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make terraform", description="The provider for Terraform, as a mirror.")
    add = parser.add_argument
    add("--platform", nargs="+", choices=mirror.PLATFORMS, default=list(mirror.PLATFORMS), help="platforms (all)")
    add("--output", type=Path, default=ROOT / "build/terraform", help="a folder (build/terraform)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
