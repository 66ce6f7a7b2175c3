"""The door to Zensical, which makes a site of prepared pages."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from deploy.manual.check import problems
from deploy.manual.finish import finish
from deploy.manual.index import Section
from deploy.manual.pages import NotMade, Sources, prepared
from deploy.packages.command import output
from deploy.packages.failure import NotBuilt

_HERE = Path(__file__).parent

ZENSICAL = _HERE.parents[1] / "build/manual-tools/bin/zensical"
"""The generator, in the environment that `make manual` makes of requirements.txt."""


def build(root: Path, zensical: Path, version: str, into: Path) -> None:
    """Build the manual of a working tree into a folder, which is emptied before. The same sources give the same bytes.
    Raises NotMade, also for a site with a dead link, or with something that a browser would load from elsewhere."""
    sources = prepared(root)
    with tempfile.TemporaryDirectory(prefix="weft-manual-") as temporary:
        folder = Path(temporary)
        _write(folder, sources, version)
        try:
            output([zensical, "build", "--config-file", folder / "zensical.toml"], folder)
        except NotBuilt as error:
            raise NotMade(str(error)) from error
        site = folder / "site"
        finish(site)
        shutil.copy(_licence(zensical), site / "assets/javascripts/LICENSE.zensical")
        if wrong := problems(site, sources):
            raise NotMade("\n".join(wrong))
        shutil.rmtree(into, ignore_errors=True)
        shutil.copytree(site, into)


def _write(folder: Path, sources: Sources, version: str) -> None:
    pages = {place: text.encode() for place, text in sources.pages.items()}
    for place, content in {**pages, **sources.files}.items():
        path = folder / "docs" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    settings = (_HERE / "zensical.toml").read_text()
    settings = settings.replace("@VERSION@", version).replace("@NAVIGATION@", navigation(sources.navigation))
    (folder / "zensical.toml").write_text(settings)
    shutil.copy(_HERE / "manual.css", folder / "docs")


def _licence(zensical: Path) -> Path:
    """Return the licence of the generator, whose scripts and styles are in the site. Raises NotMade."""
    found = zensical.parent.parent.glob("lib/python*/site-packages/zensical-*.dist-info/licenses/LICENSE*")
    if (licence := next(found, None)) is None:
        raise NotMade(f"{zensical} has no licence beside it")
    return licence


def navigation(sections: tuple[Section, ...]) -> str:
    """Return the navigation as TOML."""
    return "\n".join(["[", '  "index.md",', *_entries(sections), "]"])


def _entries(sections: tuple[Section, ...]) -> Iterator[str]:
    for section in sections:
        pages = ", ".join(f'"{page}"' for page in section.pages)
        yield f'  {{ "{re.sub(chr(34), "", section.title)}" = [{pages}] }},'
