"""The web UI's files, as `make ui` builds them, in memory: a megabyte or so."""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from controller.runtime.problems import Problem, response
from controller.settings import BadSettings

PACKAGED, BUILT = Path(__file__).parent / "static", Path(__file__).parents[2] / "build/ui"
"""Where an installed controller has the files, and where `make ui` puts them in a checkout."""

INDEX = "index.html"

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".woff2": "font/woff2",
}

FILES = frozenset((*TYPES, ".ico", ".map", ".png", ".txt", ".webmanifest"))
"""Ends of paths that are never those of a page: such a file is there, or it is not."""

POLICY = (
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types svelte-trusted-html"
)
"""Nothing comes from elsewhere, no script stands in a page, and text becomes markup only in Svelte's own templates."""

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Vary": "Accept-Encoding",
}
"""Headers of the files, beside those of all answers (`response_headers.py`)."""

FOREVER, ASK = "public, max-age=31536000, immutable", "no-cache"
"""How long browsers keep a file whose name is a digest of its contents, and any other."""

WORTH = 512
"""Bytes from which on a file is compressed."""


@dataclass(frozen=True)
class StaticFile:
    """A file, plain and compressed (None if that is not worth it), and its entity tag."""

    body: bytes
    packed: bytes | None
    kind: str
    tag: str
    kept: str


class Pages:
    """Serves the files. Every path without a file is one of the UI's own pages, so it gets the index."""

    def __init__(self, folder: Path) -> None:
        names = [path for path in sorted(folder.rglob("*")) if path.suffix in TYPES and path.is_file()]
        inside = {path.relative_to(folder).as_posix(): path for path in names}
        self._files = {f"/{name}": _read(name, path) for name, path in inside.items() if not name.startswith(".")}

    @classmethod
    def built(cls) -> "Pages":
        """Return the files of this installation. Raises BadSettings if they are not built."""
        for folder in (PACKAGED, BUILT):
            if (folder / INDEX).is_file():
                return cls(folder)
        raise BadSettings(f"WEFT_UI_LISTEN: the web UI is not built ({BUILT} has no {INDEX}): run `make ui`")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response:
        path = scope["path"]
        if scope["method"] not in ("GET", "HEAD"):
            return response(Problem(405, "This method is not allowed here.", headers={"Allow": "GET, HEAD"}), path)
        file = self._files.get(path)
        if file is None and PurePosixPath(path).suffix not in FILES:
            file = self._files[f"/{INDEX}"]
        if file is None:
            return response(Problem(404, "There is nothing here."), path)
        asked = Headers(scope=scope)
        headers = dict(HEADERS) | {"ETag": file.tag, "Cache-Control": file.kept}
        if file.tag in [tag.strip() for tag in asked.get("if-none-match", "").split(",")]:
            return Response(status_code=304, headers=headers)
        body = file.body
        if file.packed is not None and "gzip" in asked.get("accept-encoding", ""):
            body = file.packed
            headers["Content-Encoding"] = "gzip"
        headers["Content-Length"] = str(len(body))
        return Response(b"" if scope["method"] == "HEAD" else body, headers=headers, media_type=file.kind)


def _read(name: str, path: Path) -> StaticFile:
    body = path.read_bytes()
    packed = gzip.compress(body, 9, mtime=0) if len(body) >= WORTH else None
    kept = FOREVER if name.startswith("assets/") else ASK
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return StaticFile(body, packed, TYPES[path.suffix], tag, kept)
