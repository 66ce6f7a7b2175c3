"""Secrets in the repository: keys and tokens that somebody could use, in any file that git tracks."""

import re
import subprocess
from pathlib import Path

from tests.audit import Answer

KINDS = {
    "a private key": re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----\s*\n[A-Za-z0-9+/=]{40}"),
    "an AWS key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "a GitHub token": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})\b"),
    "a JSON web token": re.compile(r"\beyJ[A-Za-z0-9_-]{15,}\.eyJ[A-Za-z0-9_-]{15,}\.[A-Za-z0-9_-]{20,}"),
    "a password in a URL": re.compile(
        r"\b[a-z][a-z0-9+]*://[A-Za-z0-9_.-]+:(?!PASSWORD|\{|\$|\*\*\*)[^\s@/'\"{}$<]{6,}@"
    ),
    "a secret given a name": re.compile(
        r"(?i)\b[a-z_-]*(?:token|secret|password|credential|api_?key)[\"']?\s*[:=]\s*[\"']"
        r"(?=[^\"']*[0-9])(?=[^\"']*[A-Za-z])[A-Za-z0-9_+/=-]{40,}[\"']"
    ),
}


def scan(text: str) -> list[tuple[int, str]]:
    """Return the line number, counted from 1, and the kind of each secret in a text."""
    return sorted(
        (text.count("\n", 0, found.start()) + 1, kind) for kind, form in KINDS.items() for found in form.finditer(text)
    )


def repo(root: Path) -> Answer:
    """Scan every file that git tracks now."""
    named = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    names = [name for name in named.split("\0") if name and (root / name).is_file()]
    found = [
        f"{name}:{line}: {kind}"
        for name in names
        for line, kind in scan((root / name).read_text(encoding="utf-8", errors="replace"))
    ]
    return Answer("secrets in the repo", tuple(found), notes=(f"{len(names)} files",))
