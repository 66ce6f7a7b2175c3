"""The API's page for a browser: Swagger UI, served by the controller itself. The browser loads nothing from elsewhere
for it, so it works without the internet, and no foreign script sees a token that a user types in."""

import hashlib
import json
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import HTMLResponse, Response

from controller.core.refusals import missing

router = APIRouter(include_in_schema=False)

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

PACKAGE = "fastapi_swagger.resources"

TYPES = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon-32x32.png": "image/png",
}

START = b"""SwaggerUIBundle({
  url: "/openapi.json", dom_id: "#swagger-ui", validatorUrl: null, deepLinking: true, persistAuthorization: false
})
"""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Weft controller</title>
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
"""

HOUR = "public, max-age=3600"


@router.get("/docs")
async def page() -> Response:
    """Return the page itself."""
    return HTMLResponse(PAGE, headers={"Content-Security-Policy": POLICY})


@router.get("/docs/{name}")
async def part(name: str) -> Response:
    """Return a file that the page loads."""
    if name == "start.js":
        return Response(START, media_type="text/javascript")
    if name not in TYPES:
        raise missing("page", name)
    return Response(_read(name), media_type=TYPES[name], headers={"Cache-Control": HOUR})


@cache
def _read(name: str) -> bytes:
    return (files(PACKAGE) / name).read_bytes()


def install(app: FastAPI) -> None:
    """Serve the page and `/openapi.json`. The latter is encoded only once, because it is open to all, and large."""
    made: list[tuple[bytes, str]] = []

    @app.get("/openapi.json", include_in_schema=False)
    async def description(request: Request) -> Response:
        if not made:
            text = json.dumps(app.openapi(), separators=(",", ":")).encode()
            made.append((text, f'"{hashlib.sha256(text).hexdigest()[:32]}"'))
        text, tag = made[0]
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"ETag": tag})
        return Response(text, media_type="application/json", headers={"ETag": tag})

    app.router.routes.extend(router.routes)
