"""A folder with a configuration, and OpenTofu run in it."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deploy.terraform import mirror
from lab.paths import ROOT
from tests.unit.terraform.controller import Controller

TOFU = Path(os.environ.get("WEFT_TOFU", ROOT / "build/tofu/bin/tofu"))
PROVIDER = ROOT / "build/bin" / mirror.PROGRAM

REQUIRED = f'terraform {{\n required_providers {{\n  weft = {{ source = "{mirror.SOURCE}" }}\n }}\n}}\n'


class Failed(Exception):  # noqa: N818 - OpenTofu's own words
    """OpenTofu's errors and warnings."""


class Workspace:
    """A folder with a configuration. `told` has what OpenTofu's last command printed."""

    def __init__(self, folder: Path, controller: Controller) -> None:
        assert TOFU.exists(), "OpenTofu is missing: make build/tofu/.tools"
        assert PROVIDER.exists(), "the provider is missing: make build/bin/terraform-provider-weft"
        self.folder, self.controller, self.told = folder, controller, ""
        folder.mkdir()
        self.installs(f'dev_overrides {{ "{mirror.SOURCE}" = "{PROVIDER.parent}" }}')
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("WEFT_", "TF_", "TOFU_"))
        } | {"WEFT_URL": controller.url, "TF_CLI_CONFIG_FILE": str(folder / "tofurc"), "CHECKPOINT_DISABLE": "1"}

    def installs(self, way: str) -> None:
        """Set the way in which OpenTofu installs providers; nothing comes from a registry."""
        (self.folder / "tofurc").write_text(f"provider_installation {{ {way} }}\n")

    def write(self, configuration: str, **files: str) -> None:
        """Replace the configuration, and write files beside it."""
        (self.folder / "main.tf").write_text(REQUIRED + configuration)
        for name, text in files.items():
            (self.folder / f"{name}.yaml").write_text(text)

    def tofu(self, *words: str, codes: tuple[int, ...] = (0,), **environment: str) -> int:
        """Run OpenTofu, and return its exit code. Raises Failed."""
        done = subprocess.run(
            [TOFU, *words], cwd=self.folder, env=self.environment | environment, capture_output=True, text=True,
            check=False, timeout=120,
        )  # fmt: skip
        self.told = done.stdout + done.stderr
        if done.returncode not in codes:
            raise Failed(" ".join(self.told.replace("│", " ").split()))
        return done.returncode

    def apply(self) -> None:
        """Apply the configuration, and see that a second plan is empty."""
        self.tofu("apply", "-auto-approve", "-no-color")
        self.is_settled()

    def is_settled(self) -> None:
        """See that the plan is empty."""
        code = self.tofu("plan", "-detailed-exitcode", "-no-color", codes=(0, 2))
        assert code == 0, self.told

    def plan(self) -> dict[str, list[str]]:
        """Return the actions of the plan, by the resource's address, and keep it in the file `planned`."""
        self.tofu("plan", "-no-color", "-out", "planned")
        told = self.told
        self.tofu("show", "-json", "planned")
        changes, self.told = json.loads(self.told)["resource_changes"], told
        return {one["address"]: one["change"]["actions"] for one in changes if one["change"]["actions"] != ["no-op"]}

    def destroy(self) -> None:
        self.tofu("destroy", "-auto-approve", "-no-color")

    def values(self, address: str) -> Mapping[str, Any]:
        """Return the attributes of a resource in the state."""
        self.tofu("show", "-json")
        resources = json.loads(self.told)["values"]["root_module"]["resources"]
        [found] = [one["values"] for one in resources if one["address"] == address]
        return dict(found)
