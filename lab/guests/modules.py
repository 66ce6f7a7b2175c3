"""Kernel modules of an unpacked kernel package: the wanted ones and their dependencies, in the order to load them."""

import lzma
import re
from collections.abc import Iterable
from pathlib import Path

from lab.errors import LabError

_DEPENDS = re.compile(rb"\0depends=([^\0]*)\0")


def closure(tree: Path, wanted: Iterable[str]) -> dict[str, bytes]:
    """Return the names and contents of modules below `tree` (lib/modules/RELEASE), dependencies first. A module that is
    built into the kernel is left out; one that does not exist raises LabError."""
    files = {_plain(path.name.split(".ko")[0]): path for path in tree.rglob("*.ko*")}
    builtin = {_plain(Path(line).stem) for line in (tree / "modules.builtin").read_text().split()}
    ordered: dict[str, bytes] = {}

    def visit(name: str) -> None:
        name = _plain(name)
        if name in ordered or name in builtin:
            return
        if name not in files:
            raise LabError(f"the kernel {tree.name} has no module {name}")
        content = _content(files[name])
        found = _DEPENDS.search(content)
        for needed in found.group(1).decode().split(",") if found else []:
            if needed:
                visit(needed)
        ordered[name] = content

    for name in wanted:
        visit(name)
    return ordered


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _content(path: Path) -> bytes:
    match path.suffix:
        case ".ko":
            return path.read_bytes()
        case ".xz":
            return lzma.decompress(path.read_bytes())
    raise LabError(f"{path.name} is compressed in a way that is not known here")
