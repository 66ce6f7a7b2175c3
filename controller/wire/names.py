"""Patterns of names and hardware addresses, checked in messages and requests."""

NAME_PATTERN = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
"""A DNS label (RFC 1123, section 2.1), lower case."""

MAC_PATTERN = r"^[0-9a-f]{2}(:[0-9a-f]{2}){5}$"

CLIENT_ID_PATTERN = r"^([0-9a-f]{2}){1,255}$"
"""DHCP option 61 as lower-case hex."""
