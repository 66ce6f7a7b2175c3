"""Licences of the shipped parts: whether each may be shipped together with Weft's own licence (Apache-2.0)."""

import re
import subprocess
from importlib.metadata import distribution
from pathlib import Path

from tests.audit import Answer
from tests.audit.shipped import STANDARD

ALLOWED = re.compile(
    r"MIT|BSD|Apache|ISC|PSF|Python Software Foundation|MPL|Mozilla Public|LGPL|Lesser General|Unlicense|HPND|Zlib|CC0"
)
TEXTS = {
    "Apache-2.0": "Apache License",
    "MPL-2.0": "Mozilla Public License",
    "MIT": "Permission is hereby granted, free of charge",
    "ISC": "Permission to use, copy, modify, and/or distribute",
    "BSD": "Redistribution and use in source and binary forms",
    "CC0-1.0": "public domain with CC0 1.0",
}
"""Words that occur in the text of that licence only."""

LOOKED_AT = {
    "pyroute2": "GPL-2.0-or-later or Apache-2.0: the latter is chosen",
}
"""Distributions that offer a choice of licences, with the choice that was made."""


def of_distribution(name: str) -> str:
    """Return the licence in a distribution's metadata: an expression (PEP 639), classifiers, or the first line of the
    field."""
    said = distribution(name).metadata
    classifiers = [
        line.rpartition(" :: ")[2] for line in said.get_all("Classifier") or [] if line.startswith("License")
    ]
    fields = {name.lower(): str(said[name]) for name in set(said)}
    first = fields.get("license", "").strip().splitlines()[:1]
    return fields.get("license-expression") or ", ".join(classifiers) or "".join(first)


def of_module(path: str, version: str) -> str:
    """Return the licence of a Go module by the licence text in its own files; empty if no known text is found."""
    if path == STANDARD:
        return _of_files(Path(_go_env("GOROOT")))
    escaped = re.sub(r"[A-Z]", lambda letter: f"!{letter[0].lower()}", path)
    return _of_files(Path(_go_env("GOMODCACHE")) / f"{escaped}@{version}")


def _go_env(name: str) -> str:
    return subprocess.run(["go", "env", name], capture_output=True, text=True, check=True).stdout.strip()


def _of_files(folder: Path) -> str:
    for file in (each for each in sorted(folder.glob("*")) if each.name.lower().startswith(("licen", "copying"))):
        text = " ".join(file.read_text(errors="replace").split())
        for name, words in TEXTS.items():
            if words in text:
                return name
    return ""


def judged(of: dict[str, str]) -> Answer:
    """Return the distributions and modules whose licence is neither allowed nor chosen by hand."""
    wrong = {name: licence for name, licence in of.items() if name not in LOOKED_AT and not ALLOWED.search(licence)}
    found = tuple(f"{name}: {licence or 'no licence that is known'}" for name, licence in sorted(wrong.items()))
    return Answer("licences", found, notes=(f"{len(of)} of distributions and modules",))
