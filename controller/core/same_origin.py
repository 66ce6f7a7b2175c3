"""Whether a request comes from the UI's own pages (Fetch Metadata, W3C; Origin, RFC 6454). Pure.

A browser sends a session's cookie by itself, so the cookie alone does not prove that the user wanted the request. A
page of another site cannot set either of these headers."""

from collections.abc import Mapping

SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
"""Methods that change nothing."""


def foreign(method: str, headers: Mapping[str, str]) -> bool:
    """Return whether a request is from elsewhere than the UI's own pages, or does not say so. A request that changes
    nothing may also come from nowhere: the user has typed its URL."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        return site != "same-origin" and not (site == "none" and method in SAFE)
    if origin is not None:
        return origin != f"https://{headers.get('host', '')}"
    return method not in SAFE
