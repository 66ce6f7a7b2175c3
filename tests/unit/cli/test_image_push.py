"""`weft image push`: a layout goes as it is, files of VMs are packed first, and each failure has its reason. The
program is a script here; tests/integration/test_region_images.py has the real one."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Weft

SCRIPT = """#!/bin/sh
echo "$*" >> %(folder)s/calls
[ "$1" = pack ] && { mkdir -p "$3"; echo sha256:1; exit 0; }
[ -f %(folder)s/broken ] && { echo noise >&2; echo 'weft-images: no such host' >&2; exit 1; }
echo r.example/i@sha256:2
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the program, in which its calls are noted."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "weft-images").write_text(SCRIPT % {"folder": folder})
    (folder / "weft-images").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def image(folder: Path, *files: str) -> Path:
    folder.mkdir()
    for name in files:
        (folder / name).write_text("")
    return folder


def calls(program: Path) -> list[str]:
    return (program / "calls").read_text().splitlines()


def test_a_layout_goes_as_it_is(weft: Weft, program: Path, tmp_path: Path) -> None:
    layout = image(tmp_path / "camera", "index.json", "oci-layout")
    found = weft("image", "push", str(layout), "r.example/i", "--plain-http", "--credentials", "/c")
    assert (found.code, found.out) == (0, "r.example/i@sha256:2\n")
    assert calls(program) == [f"push --directory {layout} --registry r.example/i --plain-http --credentials /c"]


def test_files_of_a_vm_are_packed_first_and_nothing_is_left(weft: Weft, program: Path, tmp_path: Path) -> None:
    folder = image(tmp_path / "debian", "kernel", "disk.qcow2", ".hidden")
    assert weft("image", "push", str(folder), "r.example/i").code == 0
    packed, pushed = calls(program)
    assert packed.startswith("pack --directory ") and packed.endswith(f"{folder}/disk.qcow2 {folder}/kernel")
    assert pushed.split()[2] == packed.split()[2]
    assert {path.name for path in tmp_path.iterdir()} >= {"debian"}
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".weft-image-")]


def test_each_failure_has_its_reason(weft: Weft, program: Path, tmp_path: Path) -> None:
    layout = image(tmp_path / "camera", "index.json")
    (program / "broken").write_text("")
    found = weft("image", "push", str(layout), "r.example/i")
    assert found.code == 1 and "no such host" in found.err and "noise" not in found.err
    found = weft("image", "push", str(tmp_path / "nowhere"), "r.example/i")
    assert found.code == 2 and "nowhere is not a folder" in found.err
    found = weft("image", "push", str(image(tmp_path / "empty")), "r.example/i")
    assert found.code == 2 and "empty has no files" in found.err
    (program / "weft-images").unlink()
    found = weft("image", "push", str(layout), "r.example/i")
    assert found.code == 1 and "weft-images cannot be started" in found.err
