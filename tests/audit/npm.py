"""The npm packages that the web UI is built with and may contain: all but those for development, as the lock file has
them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.audit import Answer
from tests.audit.tool import said

QUESTION = "vulnerabilities of npm packages (npm audit)"

_IN = "node_modules/"


@dataclass(frozen=True, order=True)
class NpmPackage:
    """A package, with the licence that it names itself."""

    name: str
    version: str
    licence: str

    @property
    def component(self) -> dict[str, Any]:
        """Its entry in a bill of materials (CycloneDX)."""
        purl = f"pkg:npm/{self.name.replace('@', '%40')}@{self.version}"
        return {"type": "library", "bom-ref": purl, "name": self.name, "version": self.version, "purl": purl}


def packages(lock: str) -> list[NpmPackage]:
    """Return the packages of a lock file (package-lock.json, version 3)."""
    found = {
        NpmPackage(path.rpartition(_IN)[2], str(entry["version"]), str(entry.get("license", "")))
        for path, entry in json.loads(lock)["packages"].items()
        if path.startswith(_IN) and not entry.get("dev")
    }
    return sorted(found)


def audited(npm: Path, folder: Path, count: int) -> Answer:
    """Check that many packages of a folder's lock file against the registry's advisories."""
    return of_npm_audit(*said([str(npm), "audit", "--omit=dev", "--json"], folder), count)


def of_npm_audit(text: str, complaint: str, count: int) -> Answer:
    """Turn npm's JSON into an answer. A registry without advisories has answered nothing."""
    try:
        known: dict[str, dict[str, Any]] = json.loads(text)["vulnerabilities"]
    except (ValueError, KeyError, TypeError):
        reason = (complaint or text).strip().splitlines()
        return Answer(QUESTION, unasked=(f"all of {count}: {reason[0] if reason else 'npm says nothing'}",))
    found = tuple(
        f"{name}: {one['title']} ({one['url']})"
        for name, each in sorted(known.items())
        for one in each.get("via", ())
        if isinstance(one, dict)
    )
    return Answer(QUESTION, found, notes=(f"{count} packages",))
