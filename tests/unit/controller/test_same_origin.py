"""The headers by which a request of the UI's own pages is known, and the cookie of a sign-in."""

import pytest

from controller.auth.oidc_flow import SignIn
from controller.core.same_origin import foreign


@pytest.mark.parametrize(
    ("method", "headers", "is_foreign"),
    [
        ("GET", {}, False),
        ("POST", {}, True),
        ("POST", {"sec-fetch-site": "same-origin"}, False),
        ("POST", {"sec-fetch-site": "same-origin", "origin": "https://evil.example"}, False),
        ("POST", {"sec-fetch-site": "none"}, True),
        ("GET", {"sec-fetch-site": "none"}, False),
        ("GET", {"sec-fetch-site": "same-site"}, True),
        ("DELETE", {"origin": "https://weft.example:8444", "host": "weft.example:8444"}, False),
        ("DELETE", {"origin": "http://weft.example:8444", "host": "weft.example:8444"}, True),
        ("DELETE", {"origin": "null", "host": "weft.example:8444"}, True),
        ("GET", {"origin": "https://weft.example:8444.evil.example", "host": "weft.example:8444"}, True),
    ],
)
def test_the_headers_that_browsers_send(method: str, headers: dict[str, str], is_foreign: bool) -> None:
    assert foreign(method, headers) is is_foreign


def test_a_cookie_that_somebody_has_written_is_no_sign_in() -> None:
    begun = SignIn.new()
    assert SignIn.read(begun.text()) == begun
    for text in (None, "", "a.b.c", begun.text() + "x", begun.text() + ".y", "." * 2):
        assert SignIn.read(text) is None
