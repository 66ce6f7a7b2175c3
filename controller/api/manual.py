"""The manual for a browser: the site that `make manual` builds from docs, open to all, since it tells nothing about
anybody. Its pages load nothing from elsewhere, and have no script or style within them."""

from pathlib import Path

from fastapi import APIRouter, FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from controller.runtime.problems import Problem

POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

DRAWING_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
"""The policy of a drawing (SVG), whose parts have styles of their own; scripts in it do not run."""


def install(app: FastAPI, directory: Path | None) -> None:
    """Serve the manual that is built in a directory. Without one every page answers 404."""
    router = APIRouter(include_in_schema=False)
    files = StaticFiles(directory=directory, html=True, check_dir=False)

    @router.get("/manual")
    async def start() -> Response:
        return RedirectResponse("/manual/")

    @router.get("/manual/{path:path}")
    async def page(path: str, request: Request) -> Response:
        if directory is None or not (directory / "index.html").is_file():
            raise Problem(404, "This controller has no manual: WEFT_MANUAL has to name the folder of a built one.")
        try:
            answer = await files.get_response(path or ".", request.scope)
        except HTTPException as error:
            raise _absent(path) from error
        if answer.status_code == 404:  # the site's own page, which says less
            raise _absent(path)
        answer.headers["Content-Security-Policy"] = DRAWING_POLICY if path.endswith(".svg") else POLICY
        answer.headers["Cache-Control"] = "no-cache"
        return answer

    app.router.routes.extend(router.routes)


def _absent(path: str) -> Problem:
    return Problem(404, f"The manual has no page {path!r}.")
