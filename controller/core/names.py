"""Names of cloudlets, endpoints, VCPs and devices: DNS labels (RFC 1123, section 2.1), lower case."""

import re

NAME_PATTERN = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
MAC_PATTERN = r"^[0-9a-f]{2}(:[0-9a-f]{2}){5}$"
CLIENT_ID_PATTERN = r"^([0-9a-f]{2}){1,255}$"
"""DHCP option 61 as lower-case hex."""

_name = re.compile(NAME_PATTERN)


def is_name(text: str) -> bool:
    """Whether `text` can name something."""
    return _name.fullmatch(text) is not None
