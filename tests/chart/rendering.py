"""The chart's objects for some values, as helm renders them."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/helm/weft"
TOOLS = Path(os.environ.get("WEFT_CHART_TOOLS", ROOT / "build/chart/bin"))

KUBERNETES = ("1.27.0", "1.34.0")
"""The oldest release that the chart names, and a current one. A helm that is built from its source knows none."""

SERVERS = [
    {"name": "rs1", "address": "192.0.2.11", "node": "edge-1"},
    {"name": "rs2", "address": "192.0.2.12", "node": "edge-2"},
]
"""A pair of route servers."""

PLAIN: dict[str, Any] = {
    "controller": {"replicas": 1, "database": {"url": ""}},
    "secrets": {"authority": "", "sessionSecret": ""},
}
"""One controller with SQLite, without an authority."""


class NotRendered(Exception):  # noqa: N818 - helm's own words
    """Helm's refusal."""


def helm(*words: str, values: dict[str, Any] | None = None) -> str:
    """Return what helm prints about the chart with these values. Raises NotRendered."""
    program = TOOLS / "helm"
    if not program.exists():
        raise NotRendered("helm is missing: make build/chart/.tools")
    done = subprocess.run(
        [program, *words, CHART, "--values", "-", "--kube-version", KUBERNETES[-1]],
        input=json.dumps(values or {}), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise NotRendered(done.stderr)
    return done.stdout


def rendered(values: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return the chart's objects in the order of its files. Raises NotRendered."""
    return [found for found in yaml.safe_load_all(helm("template", "region", values=values)) if found]


def one(objects: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    """Return the only object of that kind and name."""
    [found] = [thing for thing in objects if (thing["kind"], thing["metadata"]["name"]) == (kind, name)]
    return found
