"""The guest package as a Debian package, for VMs other than the lab's (docs/operate/guests.md)."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from lab.errors import LabError

SOURCES = Path(__file__).parent / "package"
FILES = {"weft-guest": ("usr/sbin", 0o755), "weft-guest.service": ("lib/systemd/system", 0o644)}


def make(path: Path) -> None:
    """Write the package. The same sources give the same bytes."""
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory) / "tree"
        (tree / "DEBIAN").mkdir(parents=True)
        shutil.copyfile(SOURCES / "control", tree / "DEBIAN/control")
        for name, (folder, mode) in FILES.items():
            (tree / folder).mkdir(parents=True)
            shutil.copyfile(SOURCES / name, tree / folder / name)
            (tree / folder / name).chmod(mode)
        for file in (tree, *tree.rglob("*")):
            if file.is_dir():
                file.chmod(0o755)
        argv = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(tree), str(path)]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1"}
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LabError(f"dpkg-deb could not build {path.name}: {done.stderr.strip()}")
