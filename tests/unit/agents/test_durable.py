"""Files that after a crash are either old or new."""

import ast
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from agents.bgp.frr.daemon import _keep
from agents.hypervisors import record
from agents.storage import durable
from agents.storage.state import StateDirectory

ROOT = Path(__file__).parents[3]
RENAMES = {"rename", "renames", "replace", "link", "symlink"}


def kept(path: Path) -> None:
    path.write_text("old")
    path.chmod(0o640)
    _keep(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def recorded(path: Path) -> None:
    machine = {"name": "vm1", "driver": "qemu", "image": "lab", "memory": 1 << 28}
    macs = ("02:00:5e:00:00:02", "02:00:5e:00:00:03")
    document = {"machine": {**machine, "macs": macs}, "bridge": "lan1", "mtu": 1400, "serving": "a"}
    record.save(path.parent, record.Record.model_validate({**document, "links": {"a": True, "b": False}}))


WRITERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "durable": ("file", lambda path: durable.replace(path, "new")),
    "state": ("desired.json", lambda path: StateDirectory(path.parent, "c1").write(path.name, "new")),
    "a machine's record": (record.FILE, recorded),
    "frr.conf": ("frr.conf", kept),
}


@pytest.mark.parametrize("who", WRITERS)
def test_the_directory_is_synced_after_the_rename_and_the_file_before(
    who: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, write = WRITERS[who]
    path, done = tmp_path / name, list[str]()
    fsync, rename = os.fsync, os.rename

    def synced(descriptor: int) -> None:
        done.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def renamed(source: Path, target: Path) -> None:
        done.append("rename")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed)
    write(path)
    assert done == ["file", "rename", "directory"]
    assert path.exists() and [each.name for each in tmp_path.iterdir()] == [name]


def test_what_is_half_written_is_not_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "frr.conf"
    path.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        _keep(path, "new")
    assert path.read_text() == "old"


def test_nothing_else_in_the_agent_renames_a_file() -> None:
    """The test looks for calls of these names with one argument, since the methods of a text have two, and for all
    calls of `os`."""
    found = []
    for path in sorted((ROOT / "agents").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in RENAMES:
                of = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
                if of == "os" or (len(node.args) == 1 and not node.keywords):
                    found.append(f"{path.relative_to(ROOT)}: {of}.{node.func.attr}")
    assert found == [
        "agents/ipsec/strongswan.py: .replace",  # charon's SAs are no files
        "agents/metrics/metrics.py: fresh.rename",  # nobody needs metrics of before a crash
        "agents/storage/durable.py: fresh.rename",
    ]
