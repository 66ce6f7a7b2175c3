"""Names of cloudlets, endpoints, VCPs and devices: DNS labels (RFC 1123, section 2.1), lower case."""

import re

from controller.wire.names import NAME_PATTERN

_name = re.compile(NAME_PATTERN)


def is_name(text: str) -> bool:
    """Return whether `text` can name something."""
    return _name.fullmatch(text) is not None


def printable(text: str, length: int) -> str:
    """Return the printable part of a text of foreign origin, at most `length` characters. The rest cannot be stored
    either: PostgreSQL does not accept the character NUL, nor UTF-8 half a surrogate pair."""
    return "".join(c for c in text if c.isprintable())[:length]
