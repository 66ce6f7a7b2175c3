"""Names of cloudlets, endpoints, VCPs and devices: DNS labels (RFC 1123, section 2.1), lower case."""

import re

from controller.wire.names import NAME_PATTERN

_name = re.compile(NAME_PATTERN)


def is_name(text: str) -> bool:
    """Whether `text` can name something."""
    return _name.fullmatch(text) is not None


def printable(text: str, length: int) -> str:
    """What can be shown of a text that somebody else made up. What cannot is not kept either: PostgreSQL has no place
    for the character NUL, nor UTF-8 for half a surrogate pair."""
    return "".join(c for c in text if c.isprintable())[:length]
