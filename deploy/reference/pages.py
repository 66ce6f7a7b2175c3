"""The generated pages of docs/reference."""

from collections.abc import Callable, Mapping
from pathlib import Path

from deploy.reference.commands import commands
from deploy.reference.configuration import configuration
from deploy.reference.events import events
from deploy.reference.glossary import glossary
from deploy.reference.metrics import metrics
from deploy.reference.programs import Help

MADE = "`make references` makes this page from the code."

FOLDER = Path("docs/reference")

PAGES: Mapping[str, Callable[[Path, Help], str]] = {
    "cli.md": lambda _, go: commands(go, MADE),
    "configuration.md": lambda root, go: configuration(root, go, MADE),
    "events.md": lambda _, __: events(MADE),
    "glossary.md": lambda _, __: glossary(MADE),
    "metrics.md": lambda root, _: metrics(root, MADE),
}
"""The text of each page, for the root of the repository and the help of Go programs."""
