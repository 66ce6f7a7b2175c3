"""`make client`: a Python package that calls the API, generated from its description by openapi-python-client. Nothing
of it is committed."""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from tests.house.imports import ROOT
from tests.openapi.document import COMMITTED

GENERATOR = ROOT / "build/generator/bin/openapi-python-client"

DISTRIBUTION, PACKAGE = "weft-client", "weft_client"

SETTINGS = {
    "project_name_override": DISTRIBUTION,
    "package_name_override": PACKAGE,
    "content_type_overrides": {"application/yaml": "application/octet-stream"},  # a policy is sent as a file
    "post_hooks": [],
}


class NotGenerated(Exception):  # noqa: N818 - an answer
    """The generator failed, or warns that it has left something out; its words are the text."""


def generate(folder: Path) -> None:
    """Write the package into a folder, which is replaced. Raises NotGenerated."""
    if not GENERATOR.exists():
        raise NotGenerated("the generator is missing: make build/generator/.tools")
    shutil.rmtree(folder, ignore_errors=True)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as config:
        json.dump(SETTINGS | {"package_version_override": version}, config)
        config.flush()
        options = {"--path": COMMITTED, "--config": config.name, "--output-path": folder, "--meta": "setup"}
        words = [str(word) for option in options.items() for word in option]
        command = [str(GENERATOR), "generate", "--fail-on-warning", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotGenerated(done.stdout + done.stderr)


def main() -> int:
    """Write the package; return 1, and print why, if the generator leaves anything out."""
    parser = argparse.ArgumentParser(prog="make client")
    parser.add_argument("--output", type=Path, required=True, help="the folder of the package; it is replaced")
    options = parser.parse_args()
    try:
        generate(options.output)
    except NotGenerated as error:
        print(f"client: {error}", file=sys.stderr)
        return 1
    print(f"{DISTRIBUTION} is in {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
