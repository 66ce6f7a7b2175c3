"""Images as OCI image layouts (image-spec, "OCI Image Layout"): a folder whose `index.json` names one manifest, of a
container's image or of the files of a VM."""

import re
from pathlib import Path
from typing import NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from agents.answer import Unreadable, read_json

INDEX = "index.json"
REFERENCE = "org.opencontainers.image.ref.name"
VM = "application/vnd.weft.vm.v1"
"""The type of an artefact with the files of a VM (agents/transfer, `weft-images pack`)."""

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_LONGEST = 1 << 20  # characters of an index


class Manifest(TypedDict):
    """The manifest that an index names."""

    digest: str
    annotations: NotRequired[dict[str, str]]
    artifactType: NotRequired[str]


class Index(TypedDict):
    """The index of a layout."""

    manifests: list[Manifest]


_FORM = TypeAdapter(Index)


def manifests(folder: Path) -> list[Manifest]:
    """Return the manifests of the layout in `folder`. Raises Unreadable, and OSError if it has no index."""
    return read_json(_FORM, (folder / INDEX).read_bytes(), _LONGEST)["manifests"]


def digest(manifest: Manifest) -> str | None:
    """Return the SHA-256 of a manifest in hex; None if its digest is of another kind."""
    found = _DIGEST.fullmatch(manifest["digest"])
    return found[1] if found is not None else None


def of_vms(folder: Path) -> bool | None:
    """Return whether the layout in `folder` has the files of a VM, rather than of containers; None if there is no
    layout."""
    try:
        found = manifests(folder)
    except (OSError, Unreadable):
        return None
    return any(manifest.get("artifactType") == VM for manifest in found)
