"""The site under a strict Content-Security-Policy: no script or style stands within a page, and nothing is loaded from
elsewhere."""

import hashlib
import os
import re
import shutil
from pathlib import Path

from deploy.manual.assets import SHIM

_SCRIPTS = "assets/javascripts"
_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_SHIM_FROM_ELSEWHERE = re.compile(r'<script src="https://unpkg\.com/iframe-worker/shim"[^>]*></script>')
_ALIGNED = re.compile(r' style="text-align: (left|center|right);"')


def finish(site: Path) -> None:
    """Change the pages of a site in place."""
    shutil.copy(SHIM, site / _SCRIPTS / SHIM.name)
    for page in sorted(site.rglob("*.html")):
        above = os.path.relpath(site, page.parent)
        page.write_text(_finished(page.read_text(), site, "" if above == "." else f"{above}/"))
    (site / "sitemap.xml").unlink(missing_ok=True)  # for a site with an address


def _finished(text: str, site: Path, above: str) -> str:
    """Return a page whose scripts are files; `above` leads from it to the root of the site."""

    def moved(found: re.Match[str]) -> str:
        script = found[1].encode()
        name = f"{_SCRIPTS}/page.{hashlib.sha256(script).hexdigest()[:8]}.js"
        (site / name).write_bytes(script)
        return f'<script src="{above}{name}"></script>'

    shim = f'<script src="{above}{_SCRIPTS}/{SHIM.name}"></script>'
    text = _SHIM_FROM_ELSEWHERE.sub(shim, text)
    return _ALIGNED.sub(r' class="align-\1"', _INLINE.sub(moved, text))
