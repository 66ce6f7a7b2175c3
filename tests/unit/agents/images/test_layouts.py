"""The folder of images: what is an image, what is half of one, and what goes."""

import json
import os
from pathlib import Path

import pytest

from agents.hypervisors import oci_layout
from agents.hypervisors.container.image import Images
from agents.hypervisors.hypervisor import Refused
from agents.hypervisors.qemu.image import names
from agents.images import layouts

A = "a" * 64


def layout(images: Path, name: str, digest: str = f"sha256:{A}", kind: str | None = None, many: int = 1) -> Path:
    folder = images / name
    (folder / "blobs" / "sha256").mkdir(parents=True)
    manifest = {"digest": digest, "annotations": {oci_layout.REFERENCE: "latest"}}
    manifest |= {"artifactType": kind} if kind else {}
    (folder / oci_layout.INDEX).write_text(json.dumps({"manifests": [manifest] * many}))
    return folder


def test_images_with_and_without_a_manifest(tmp_path: Path) -> None:
    assert layouts.stored(tmp_path / "none") == {}
    layout(tmp_path, "camera")
    layout(tmp_path, "two", many=2)
    layout(tmp_path, "odd", digest="md5:1")
    (layout(tmp_path, "broken") / oci_layout.INDEX).write_text("{")
    (tmp_path / "by-hand").mkdir()
    for name in (".camera.coming", ".x.going", "Not_a_name"):
        layout(tmp_path, name)
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "camera")
    assert layouts.stored(tmp_path) == {"camera": A, "two": None, "odd": None, "broken": None, "by-hand": None}


def test_a_blob_with_several_names_counts_once(tmp_path: Path) -> None:
    blob = layout(tmp_path, "camera") / "blobs" / "sha256" / A
    blob.write_bytes(bytes(1000))
    os.link(blob, layout(tmp_path, "other") / "blobs" / "sha256" / A)
    (layout(tmp_path, ".new.coming") / "blobs" / "sha256" / A).write_bytes(bytes(10))
    assert layouts.size(tmp_path) == 1010


def test_what_goes_is_gone_and_parts_stay_while_they_are_wanted(tmp_path: Path) -> None:
    layout(tmp_path, "camera")
    layout(tmp_path, ".camera.going")  # an earlier removal was cut
    layouts.remove(tmp_path, "camera")
    for name in (".a.coming", ".b.coming", ".c.going"):
        layout(tmp_path, name)
    (tmp_path / ".memory").mkdir()
    layouts.tidy(tmp_path, frozenset({"a"}))
    assert {path.name for path in tmp_path.iterdir()} == {".a.coming", ".memory"}


def test_each_driver_sees_its_own_kind(tmp_path: Path) -> None:
    layout(tmp_path, "work")
    layout(tmp_path, "debian", kind=oci_layout.VM)
    (tmp_path / "by-hand").mkdir()
    containers = Images(tmp_path, tmp_path / "state")
    assert names(tmp_path) == ["by-hand", "debian"] and containers.names() == ["work"]
    assert containers.digest("work") == A
    with pytest.raises(Refused, match="it is an image of VMs"):
        containers.digest("debian")
