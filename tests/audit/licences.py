"""Licences of what is shipped: those under which it may be, together with Weft's own (Apache-2.0)."""

import re
import subprocess
from importlib.metadata import distribution
from pathlib import Path

from tests.audit import Answer
from tests.audit.shipped import STANDARD

ALLOWED = re.compile(
    r"MIT|BSD|Apache|ISC|PSF|Python Software Foundation|MPL|Mozilla Public|LGPL|Lesser General|Unlicense|HPND|Zlib"
)
TEXTS = {
    "Apache-2.0": "Apache License",
    "MPL-2.0": "Mozilla Public License",
    "MIT": "Permission is hereby granted, free of charge",
    "ISC": "Permission to use, copy, modify, and/or distribute",
    "BSD": "Redistribution and use in source and binary forms",
}
"""Words that only that licence's text has."""

LOOKED_AT = {
    "pyroute2": "GPL-2.0-or-later or Apache-2.0: the latter is chosen",
}
"""Distributions whose licence is a choice, and which was made."""


def of_distribution(name: str) -> str:
    """What its metadata says: an expression (PEP 639), classifiers, or the first line of the field."""
    said = distribution(name).metadata
    classifiers = [
        line.rpartition(" :: ")[2] for line in said.get_all("Classifier") or [] if line.startswith("License")
    ]
    fields = {name.lower(): str(said[name]) for name in set(said)}
    first = fields.get("license", "").strip().splitlines()[:1]
    return fields.get("license-expression") or ", ".join(classifiers) or "".join(first)


def of_module(path: str, version: str) -> str:
    """By the text of the licence in the module's own files; empty if there is none that is known."""
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
    """Those of which the licence is not among the allowed, nor was chosen by hand."""
    wrong = {name: licence for name, licence in of.items() if name not in LOOKED_AT and not ALLOWED.search(licence)}
    found = tuple(f"{name}: {licence or 'no licence that is known'}" for name, licence in sorted(wrong.items()))
    return Answer("licences", found, notes=(f"{len(of)} of distributions and modules",))
