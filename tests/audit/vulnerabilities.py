"""Known vulnerabilities: pip-audit checks Python distributions, and govulncheck checks Go programs with their standard
library. An answer lists what its database was not asked about, rather than call that free of vulnerabilities."""

import json
import os
from pathlib import Path
from typing import Any

from tests.audit import Answer
from tests.audit.shipped import PROGRAMS
from tests.audit.tool import said

GOVULNCHECK = "golang.org/x/vuln/cmd/govulncheck@v1.1.4"
GOVULNDB = "https://vuln.go.dev"
"""The URL of the database, unless the environment variable of that name has another: `file:///…` is a copy."""


def python(shipped: dict[str, str], tool: Path, folder: Path) -> Answer:
    """Check the distributions against the package index's advisories."""
    names = folder / "shipped.txt"
    names.write_text("".join(f"{name}=={version}\n" for name, version in sorted(shipped.items())))
    command = [str(tool), "-r", str(names), "--no-deps", "--disable-pip", "-f", "json", "--progress-spinner", "off"]
    return of_pip_audit(*said(command, folder))


def of_pip_audit(said: str, complaint: str) -> Answer:
    """Turn pip-audit's JSON into an answer. A distribution that pip-audit skipped was not checked, although the JSON
    lists no vulnerability for it."""
    question = "vulnerabilities of Python distributions (pip-audit)"
    try:
        known: list[dict[str, Any]] = json.loads(said)["dependencies"]
    except (ValueError, KeyError):
        return Answer(question, unasked=(f"all of them: {complaint}",))
    found = tuple(
        f"{each['name']} {each['version']}: {one['id']}, mended in {', '.join(one['fix_versions']) or 'no release'}"
        for each in known
        for one in each.get("vulns", [])
    )
    skipped = [each["name"] for each in known if "skip_reason" in each]
    unasked = (f"{len(skipped)} of {len(known)}: the index that is reached has no advisories",) if skipped else ()
    return Answer(question, found, unasked if known else ("all of them: none were named",))


def go(programs: Path) -> Answer:
    """Check each shipped program, as it was built, against the Go vulnerability database."""
    database = os.environ.get("GOVULNDB") or GOVULNDB
    command = ["go", "run", GOVULNCHECK, "-mode", "binary", "-format", "json", "-db", database]
    return of_govulncheck({name: said([*command, str(programs / name)], programs) for name in PROGRAMS}, database)


def of_govulncheck(said: dict[str, tuple[str, str]], database: str) -> Answer:
    """Turn govulncheck's streams of JSON objects into an answer; `said` has the stream and the error text of each
    program."""
    found, unasked = list[str](), dict[str, list[str]]()
    for name, (stream, complaint) in said.items():
        messages, decoder, rest = list[dict[str, Any]](), json.JSONDecoder(), stream.strip()
        while rest.startswith("{"):
            message, end = decoder.raw_decode(rest)
            messages.append(message)
            rest = rest[end:].lstrip()
        if complaint or not any("config" in each for each in messages):
            unasked.setdefault(complaint or "it said nothing", []).append(name)
        called = {each["finding"]["osv"] for each in messages if "finding" in each and _called(each["finding"])}
        found += [f"{name}: {each}" for each in sorted(called)]
    return Answer(
        "vulnerabilities of Go programs (govulncheck)",
        tuple(found),
        tuple(f"{', '.join(names)}: {complaint}" for complaint, names in unasked.items()),
        (f"{', '.join(said)}; {database}",),
    )


def _called(finding: dict[str, Any]) -> bool:
    """Tell whether the program contains a function of the finding, and not only its module."""
    return any("function" in frame for frame in finding.get("trace", []))
