"""`python -m tests.house` writes the drawings of the architecture again: docs/contribute/architecture.md."""

from collections.abc import Iterator
from pathlib import Path

from tests.house.imports import GO_MODULES, ROOT, Graph, folders, go_packages, reduced

PAGE = ROOT / "docs/contribute/architecture.md"
LEFT_OUT = {"main"}
"""The module that starts all others: its imports tell nothing about the structure."""


def page() -> str:
    """Return the page, with a diagram of each part in Mermaid."""
    parts = {
        "controller": folders("controller"),
        "agents": folders("agents"),
        **{f"{module}/internal": go_packages(module) for module in GO_MODULES},
    }
    lines = [
        "# Which folder stands on which",
        "",
        "Made by `make architecture` from the code's own imports; a test finds it out of date. An arrow leads from the",
        "folder that imports to the one that is imported; arrows that a longer way implies are left out. There are no",
        "cycles.",
        "",
    ]
    for name, graph in parts.items():
        lines += [f"## {name}", "", "```mermaid", "graph TD", *_arrows(graph), "```", ""]
    return "\n".join(lines)


def _arrows(graph: Graph) -> Iterator[str]:
    for name, others in sorted(reduced(graph).items()):
        if name not in LEFT_OUT:
            yield from (f"  {name} --> {other}" for other in sorted(others))


if __name__ == "__main__":
    Path(PAGE).write_text(page())
    print(PAGE.relative_to(ROOT))
