"""`make audit`. Exit codes: 0 nothing is wrong, 1 something is wrong, 2 something could not be checked."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from tests.audit import Answer, bill, debian, exit_code, licences, npm, pythons, secrets, shipped, vulnerabilities

ROOT = Path(__file__).parents[2]
UI = ROOT / "controller/ui"


def main() -> int:
    """Ask all questions, write the bill and the answers, and print the answers."""
    parser = argparse.ArgumentParser(prog="make audit")
    parser.add_argument("--tools", type=Path, required=True, help="where pip-audit and cyclonedx-py are")
    parser.add_argument("--output", type=Path, required=True, help="a directory: sbom.json and audit.json")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    python, go = shipped.distributions(), shipped.modules(ROOT / "build/bin")
    of = {name: licences.of_distribution(name) for name in python}
    of |= {f"{path} {version}": licences.of_module(path, version) for path, version in go.items()}
    ui = npm.packages((UI / "package-lock.json").read_text())
    of |= {f"{one.name} {one.version}": one.licence for one in ui}
    further, installed = debian.packages(ROOT / "deploy")
    count = bill.make(
        options.tools, ROOT, options.output / "sbom.json", python, go, [*further, *(one.component for one in ui)]
    )
    answers = [
        vulnerabilities.python(python, options.tools / "pip-audit", options.output),
        vulnerabilities.go(ROOT / "build/bin"),
        npm.audited(ROOT / "build/bin/npm", UI, len(ui)),
        installed,
        pythons.installed(ROOT, options.output),
        licences.judged(of),
        secrets.repo(ROOT),
        Answer("bill of materials", notes=(f"{count} components in {options.output / 'sbom.json'}",)),
    ]
    (options.output / "audit.json").write_text(json.dumps([asdict(answer) for answer in answers], indent=1) + "\n")
    for answer in answers:
        state = "FOUND" if answer.found else "NOT ASKED" if answer.unasked else "ok"
        print(f"{state:<9}  {answer.question}" + "".join(f": {note}" for note in answer.notes))
        for line in (*answer.found, *answer.unasked):
            print(f"           {line}")
    return exit_code(answers)


if __name__ == "__main__":
    sys.exit(main())
