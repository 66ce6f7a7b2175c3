"""Sentences for a wrong value of a request: the required form, with an example, and never a bare regular expression."""

from collections.abc import Callable, Mapping
from typing import Any

from controller.wire.images import REGISTRY_PATTERN
from controller.wire.initiations import CHECK_PATTERN, PROGRAM_PATTERN
from controller.wire.machines import CPU_PATTERN
from controller.wire.names import CLIENT_ID_PATTERN, MAC_PATTERN, NAME_PATTERN

FORMS: Mapping[str, tuple[str, str]] = {
    NAME_PATTERN: ("lower-case letters, digits and hyphens in between, 63 at most", "c1-lan"),
    r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$": (
        "a domain: names of lower-case letters, digits and hyphens, with dots in between",
        "weft.example",
    ),
    MAC_PATTERN: ("a MAC address: six bytes in lower-case hex with colons in between", "02:00:5e:00:00:01"),
    r"^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$": (
        "a MAC address: six bytes in hex with colons in between",
        "02:00:5e:00:00:01",
    ),
    CLIENT_ID_PATTERN: ("1 to 255 bytes in lower-case hex", "01aabbccddeeff"),
    r"^([0-9a-f]{2})+$": ("bytes in lower-case hex", "01aabb"),
    r"^[0-9a-f]{32}$": ("32 digits of lower-case hex", "0f" * 16),
    r"^[0-9a-f]{40}$": ("40 digits of lower-case hex", "0a" * 20),
    r"^[0-9a-f]{64}$": ("64 digits of lower-case hex", "1b" * 32),
    r"^[0-9]{1,10}-[0-9a-f]{12}$": ("the mark that a plan was shown with", "42-0f1e2d3c4b5a"),
    r"^[0-9.]+L?:[0-9]+$": ("a route target: AS, colon, number; with an L behind a four-octet AS", "65000:7"),
    r"^[0-9A-Za-z_-]{43,128}$": ("43 to 128 letters, digits, hyphens and underscores", "x" * 43),
    r"^[0-9a-zA-Z-]+$": ("letters, digits and hyphens", "run-7"),
    r"^[A-Za-z0-9_.-]{1,63}$": ("letters, digits, dots, hyphens and underscores, 63 at most", "cpu"),
    REGISTRY_PATTERN: ("a registry and a repository, without a tag", "registry.example.net/camera"),
    CHECK_PATTERN: ("tcp:PORT or http:PORT/PATH", "http:8080/ready"),
    PROGRAM_PATTERN: ("a path from the root, of visible ASCII characters without spaces", "/opt/take-over"),
    CPU_PATTERN: (
        "policy, baseline, host, max, or a CPU model, with features to take from it behind commas",
        "EPYC-Rome,-rdpid",
    ),
    r"^(?:[A-Za-z0-9_.:@*?\[\]-]{1,15}|[A-Za-z0-9_.:@-]{1,15}\.[1-9][0-9]{0,3})$": (
        "an interface's name, a shell pattern of such names (15 characters at most), or a VLAN of one (eth1.100)",
        "eth*",
    ),
    r"^[^\x00-\x1f\x7f]*$": ("one line of text without control characters", "the fair in May"),
    r"^[^\x00-\x1f\x7f]+$": ("one line of text without control characters, and not empty", "policy.yaml"),
    r"^[^\x00-\x1f\x7f-\x9f]+$": ("one line of text without control characters, and not empty", "anas-phone"),
    r"^[!-~]+$": ("visible ASCII characters without spaces", "0b6f6a1e-8f5e"),
}
"""Every pattern of the API, with the form in words and an example of it."""


def in_words(error: Mapping[str, Any]) -> str:
    """Return the fault that pydantic found, as the end of a sentence after the field's name."""
    context = error.get("ctx") or {}
    say = _SENTENCES.get(str(error["type"]))
    return say(context) if say is not None else str(error["msg"])


def _form(context: Mapping[str, Any]) -> str:
    form, example = FORMS[context["pattern"]]  # a test finds patterns that are missing
    return f"not of the right form, which is {form}, as in {example}"


_SENTENCES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "string_pattern_mismatch": _form,
    "value_error": lambda context: str(context["error"]),
}
"""Kinds of error whose original messages are for programmers."""
