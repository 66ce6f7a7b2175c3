"""Reads capture files that tcpdump has written (pcap-savefile(5)), frame by frame."""

import struct
from collections.abc import Iterator

from lab.errors import LabError

ETHERNET = 1
_ORDERS = {b"\xd4\xc3\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">"}  # of the magic number, with microseconds


def frames(data: bytes) -> Iterator[tuple[float, bytes]]:
    """Yield each frame with its time, in seconds since the epoch; one that is cut off at the end is left out. Raises
    LabError for another kind of file, or for a link type other than Ethernet."""
    if (order := _ORDERS.get(data[:4])) is None or len(data) < 24:
        raise LabError("this is not a capture file with microseconds")
    (link,) = struct.unpack_from(f"{order}I", data, 20)
    if link != ETHERNET:
        raise LabError(f"a capture of link type {link}; only Ethernet (1) is read")
    at = 24
    while at + 16 <= len(data):
        seconds, micros, held, _ = struct.unpack_from(f"{order}IIII", data, at)
        if at + 16 + held > len(data):
            return
        yield seconds + micros / 1e6, data[at + 16 : at + 16 + held]
        at += 16 + held
