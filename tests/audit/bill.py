"""The bill of materials of the shipped parts, as CycloneDX 1.6 JSON. cyclonedx-py lists the Python distributions, the
Go programs list their modules, the lock file the npm packages, and apt the Debian packages."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.audit.shipped import normal

VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
sys.exit(str(wrong) if wrong else 0)
"""


def make(
    tools: Path, root: Path, to: Path, python: dict[str, str], go: dict[str, str], further: list[dict[str, Any]]
) -> int:
    """Write the bill, check it against the standard's schema, and return the number of components. Raises
    CalledProcessError."""
    command = [str(tools / "cyclonedx-py"), "environment", "--pyproject", str(root / "pyproject.toml")]
    said = subprocess.run(
        [*command, "--of", "JSON", "-o", "-", sys.executable], capture_output=True, text=True, check=True
    )
    document = merged(json.loads(said.stdout), python, go, further)
    to.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    subprocess.run([str(tools / "python"), "-c", VALIDATE, str(to)], check=True)
    return len(document["components"])


def merged(
    document: dict[str, Any], python: dict[str, str], go: dict[str, str], further: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the environment's bill without the distributions that are not shipped, with Go's modules and `further`
    components."""
    kept = [each for each in document["components"] if normal(each["name"]) in python]
    modules = [
        {"type": "library", "bom-ref": f"pkg:golang/{path}@{version}", "name": path, "version": version,
         "purl": f"pkg:golang/{path}@{version}"}
        for path, version in go.items()
    ]  # fmt: skip
    there = {each["bom-ref"] for each in [*kept, *modules, *further]} | {document["metadata"]["component"]["bom-ref"]}
    dependencies = [
        {**each, "dependsOn": [on for on in each.get("dependsOn", []) if on in there]}
        for each in document.get("dependencies", [])
        if each["ref"] in there
    ]
    return {**document, "components": kept + modules + further, "dependencies": dependencies}
