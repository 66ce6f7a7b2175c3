"""The repository's rules that a program can check: permitted imports, and a description of every folder."""

import re
from collections.abc import Iterator
from graphlib import CycleError
from pathlib import Path

import pytest

from tests.house.__main__ import PAGE, page
from tests.house.imports import ROOT, folders, imported, reduced
from tests.house.tracked import tracked

PACKAGES = ("controller", "agents", "lab", "deploy")

# Each third party has one door: the only file, or folder, that imports it.
DOORS = {
    "pyroute2": ("agents/kernel/netlink.py",),
    "qemu": ("agents/hypervisors/qemu/monitor.py",),
    "vici": ("agents/ipsec/charon.py",),
    "libvirt": ("agents/hypervisors/libvirt/connection.py",),
    "libvirt_qemu": ("agents/hypervisors/libvirt/connection.py",),
    "ansible": ("deploy/ansible/",),
    "ansible_collections": ("deploy/ansible/",),
    "aiosqlite": ("controller/db/sqlite_connection.py",),
    "h11": ("controller/server/connections.py",),
    "grpc": ("agents/bgp/gobgp/",),
    "api": ("agents/bgp/gobgp/",),
    "jinja2": ("controller/wire/templates.py",),
    "cryptography": ("controller/trust/x509.py", "controller/trust/sealing.py", "agents/identity/x509.py"),
    "standardwebhooks": ("controller/webhooks/signature.py",),
    "opentelemetry": ("controller/wire/tracing.py",),
    "jwt": ("controller/auth/jwt.py",),
    "authlib": ("controller/auth/oidc_flow.py",),
    "alembic": ("controller/db/", "migrations/"),
    "prometheus_client": (
        "controller/runtime/counters.py",
        "controller/runtime/metrics.py",
        "controller/runtime/move_metrics.py",
        "agents/metrics/exposition.py",
    ),
    "netaddr": ("controller/core/",),
    "packaging": ("controller/core/releases.py", "deploy/packages/"),
    "geographiclib": ("controller/core/proximity/geodesic.py",),
    "jsonschema": ("controller/core/yaml_document/form.py", "lab/document.py"),
    "jsonschema_rs": ("controller/core/yaml_document/form.py",),
    "yaml": ("controller/core/yaml_document/document.py", "controller/cli/documents.py"),
    "pynetbox": ("controller/cli/netbox.py",),
    "requests": ("controller/cli/netbox.py",),
    "urllib3": ("controller/cli/netbox.py",),
    "platformdirs": ("controller/cli/state.py",),
    "tenacity": ("controller/cli/retries.py",),
    "uvicorn": ("controller/server/",),
    "matplotlib": ("lab/plot/",),
}


def sources() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


@pytest.mark.parametrize("library", sorted(DOORS))
def test_third_party_has_one_door(library: str) -> None:
    for path in sources():
        name = str(path.relative_to(ROOT))
        if library in {module.split(".")[0] for module in imported(path)}:
            assert name.startswith(DOORS[library]), f"{name} imports {library}; its door is {DOORS[library]}"


def test_arrows_go_one_way() -> None:
    for path in sources():
        name = str(path.relative_to(ROOT))
        for module in imported(path):
            where = f"{name} imports {module}"
            if name.startswith("agents/"):
                assert not module.startswith("controller") or module.startswith("controller.wire"), where
                assert not module.startswith(("lab", "deploy")), where
            if name.startswith("controller/"):
                assert not module.startswith(("agents", "lab", "deploy")), where
            if name.startswith("deploy/"):
                assert not module.startswith(("lab", "tests")), where
            if name.startswith("controller/wire/"):
                assert not module.startswith("controller") or module.startswith("controller.wire"), where
            if name.startswith("controller/core/"):
                assert not module.startswith(("controller.api", "controller.db", "sqlalchemy", "fastapi", "httpx")), (
                    where
                )
            if name.startswith("controller/cli/"):
                assert not module.startswith(("controller.api", "controller.db", "sqlalchemy", "fastapi")), where


@pytest.mark.parametrize("package", ["controller", "agents"])
def test_folders_have_no_cycles(package: str) -> None:
    try:
        reduced(folders(package))
    except CycleError as error:
        pytest.fail(f"folders of {package}/ import each other: {' imports '.join(reversed(error.args[1]))}")


def test_the_architecture_is_drawn_as_it_is() -> None:
    assert PAGE.read_text() == page(), "make architecture"


OTHERS = {
    "__init__.py",
    "frr-reload.py",
    "notebook.py",
    "notebook_bench.py",
    "test_it.py",
    "_test.go",
    "plan.md",
    "vuln.go",
    "vulnerabilities.go",
}
"""Files that texts name and that are not in the repository, or that a guide's reader writes."""


def texts() -> Iterator[Path]:
    """Yield the documents, and the code for its comments."""
    for folder in ("controller", "agents", "routeserver", "lab", "tests", "docs", "migrations", "policies", "deploy"):
        yield from (path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".py", ".go", ".md"))
    yield ROOT / "README.md"


def test_files_that_are_named_are_there() -> None:
    there = {path.relative_to(ROOT).as_posix() for path in texts()}
    names = {name.rsplit("/", 1)[-1] for name in there}
    missing = set()
    for path in texts():
        for named in re.findall(r"(?:[\w-]+/)*[\w-]+\.(?:py|go)\b", path.read_text()):
            leaf = named.rsplit("/", 1)[-1]
            if leaf in OTHERS:
                continue
            found = any(f"/{one}".endswith(f"/{named}") for one in there) if "/" in named else leaf in names
            if not found:
                missing.add(f"{path.relative_to(ROOT)} names {named}")
    assert not missing, "there are no such files"


PAGES = [ROOT / "README.md", *sorted(ROOT.glob("*/README.md")), *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text()
    for link in re.findall(r"\]\(([^)#\s]+)", text):
        assert link.startswith("https://") or (path.parent / link).exists(), f"[…]({link})"
    for named in re.findall(r"(?<![\w/])((?:\.\./)*(?:[\w-]+/)*[\w-]+\.md)\b", text):
        assert named in OTHERS or (path.parent / named).exists() or (ROOT / named).exists(), named


def test_each_page_is_in_the_index() -> None:
    index = (ROOT / "docs/README.md").read_text()
    for path in (ROOT / "docs").glob("*/*.md"):
        assert f"`{path.relative_to(ROOT / 'docs')}`" in index, f"docs/README.md has no line on {path.name}"


def test_every_folder_says_what_it_is() -> None:
    for folder in ("controller", "routeserver", "agents", "policies", "migrations", "lab", "tests", "docs", "deploy"):
        readme = ROOT / folder / "README.md"
        assert readme.is_file(), f"{folder}/ has no README.md"


def test_only_sources_are_kept() -> None:
    """Programs and archives are built; what is built is not kept, but for the pictures that pages show."""
    shown = {path for path in tracked() if path.parent == ROOT / "docs/pictures"}
    assert [path for path in tracked() if b"\0" in path.read_bytes() and path not in shown] == []
    pages = "".join((ROOT / name).read_text() for name in ("README.md", "docs/operate/ui.md"))
    assert [path.name for path in shown if f"pictures/{path.name})" not in pages] == []


def test_files_stay_small() -> None:
    for path in sources():
        assert len(path.read_text().splitlines()) <= 400, f"{path.relative_to(ROOT)} has grown into a heap"


OF_ONE_OCCASION = {
    "gather.md", "install.md", "ports.md", "runbook.md", "security-checklist.md", "sizing.md", "troubleshooting.md",
    "upgrade.md",
}  # fmt: skip
"""Pages that are followed step by step, or looked up for a new site or in an alarm, and not read through."""


def test_guides_are_short() -> None:
    """A guide that grows without limit is not read; figures and long samples belong into `docs/reports/`, and tables of
    all that there is into `docs/reference/`."""
    guides = (ROOT / "docs" / reader for reader in ("operate", "policy", "network", "contribute"))
    words = {page.name: len(page.read_text().split()) for folder in guides for page in folder.glob("*.md")}
    words = {name: count for name, count in words.items() if name not in OF_ONE_OCCASION}
    assert sum(words.values()) < 35_000, words
