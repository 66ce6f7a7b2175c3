"""The bill of materials of a package, as CycloneDX 1.6 JSON: its Python distributions and Go modules."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from deploy.manual.assets import Asset
from deploy.packages.version import Version


def bill(
    name: str,
    version: Version,
    site: Path | None,
    modules: Mapping[str, str],
    assets: Iterable[Asset],
    seconds: int,
) -> str:
    """Return the bill of a package: `site` is the folder of its distributions, `modules` are Go's, by path, with their
    versions, `assets` are the parts of the manual. `seconds` is its time, since 1970. The same parts give the same
    text."""
    time = datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
    purl = f"pkg:deb/weft/{name}@{version.upstream}"
    main = {"type": "application", "bom-ref": purl, "name": name, "version": version.upstream, "purl": purl}
    parts = [
        *(_part("pypi", one, there) for one, there in sorted(_distributions(site).items())),
        *(_part("golang", path, there) for path, there in sorted(modules.items())),
        *(_part(one.kind, one.name, one.version) for one in assets),
    ]
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"timestamp": time, "component": main},
        "components": parts,
        "dependencies": [{"ref": purl, "dependsOn": [part["bom-ref"] for part in parts]}],
    }
    return json.dumps(document, indent=1) + "\n"


def _distributions(site: Path | None) -> dict[str, str]:
    return {one.name: one.version for one in distributions(path=[str(site)])} if site is not None else {}


def _part(kind: str, name: str, version: str) -> dict[str, Any]:
    purl = f"pkg:{kind}/{name}@{version}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
