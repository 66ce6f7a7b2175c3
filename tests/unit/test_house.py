"""The house rules that a program can check: who may import what, and that every folder says what it is."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("controller", "agents", "lab")

# Each third party has one door: the only file, or folder, that imports it.
DOORS = {
    "pyroute2": ("agents/netlink.py",),
    "qemu": ("agents/hypervisors/qemu/monitor.py",),
    "vici": ("agents/ipsec/charon.py",),
    "libvirt": ("agents/hypervisors/libvirt/connection.py",),
    "libvirt_qemu": ("agents/hypervisors/libvirt/connection.py",),
    "h11": ("controller/server/connections.py",),
    "grpc": ("agents/gobgp/",),
    "api": ("agents/gobgp/",),
    "jinja2": ("agents/frr/",),
    "cryptography": ("controller/trust/x509.py", "agents/identity/x509.py"),
    "jwt": ("controller/auth/jwt.py",),
    "alembic": ("controller/db/", "migrations/"),
    "prometheus_client": ("controller/runtime/metrics.py", "controller/api/metrics.py"),
    "netaddr": ("controller/core/",),
    "geographiclib": ("controller/core/proximity/geodesic.py",),
    "jsonschema": ("controller/core/policy/form.py", "lab/document.py"),
    "jsonschema_rs": ("controller/core/policy/form.py",),
    "yaml": ("controller/core/policy/document.py",),
    "ruamel": ("lab/document.py",),
    "matplotlib": ("lab/plot/",),
}


def imports(path: Path) -> Iterator[str]:
    """Dotted names of all modules that a file imports, at any depth."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module


def sources() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


@pytest.mark.parametrize("library", sorted(DOORS))
def test_third_party_has_one_door(library: str) -> None:
    for path in sources():
        name = str(path.relative_to(ROOT))
        if library in {module.split(".")[0] for module in imports(path)}:
            assert name.startswith(DOORS[library]), f"{name} imports {library}; its door is {DOORS[library]}"


def test_arrows_go_one_way() -> None:
    for path in sources():
        name = str(path.relative_to(ROOT))
        for module in imports(path):
            where = f"{name} imports {module}"
            if name.startswith("agents/"):
                assert not module.startswith("controller") or module.startswith("controller.wire"), where
                assert not module.startswith("lab"), where
            if name.startswith("controller/"):
                assert not module.startswith("agents"), where
                assert not module.startswith("lab") or name.startswith("controller/cli/"), where
            if name.startswith("controller/wire/"):
                assert not module.startswith("controller") or module.startswith("controller.wire"), where
            if name.startswith("controller/core/"):
                assert not module.startswith(("controller.api", "controller.db", "sqlalchemy", "fastapi", "httpx")), (
                    where
                )
            if name.startswith("controller/cli/"):
                assert not module.startswith(("controller.api", "controller.db", "sqlalchemy", "fastapi")), where


def test_every_folder_says_what_it_is() -> None:
    for folder in ("controller", "routeserver", "agents", "policies", "migrations", "lab", "tests", "docs", "deploy"):
        readme = ROOT / folder / "README.md"
        assert readme.is_file(), f"{folder}/ has no README.md"


def test_files_stay_small() -> None:
    for path in sources():
        assert len(path.read_text().splitlines()) <= 400, f"{path.relative_to(ROOT)} has grown into a heap"
