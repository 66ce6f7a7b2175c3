"""Numbers that are allotted once and kept: site numbers of the region, endpoint indexes of a cloudlet."""

from collections.abc import Collection

from controller.core.persistent_map import PersistentMap
from controller.core.refusals import conflict
from controller.wire.flavours import Flavour

MAX_VE_ID = 4095
"""A VPLS endpoint's site number is its VE ID, and a label is 8 bits of index above 12 bits of VE ID (20 bits, RFC 3032,
section 2.1)."""

MAX_SITE = 2**31 - 1
"""The largest site number of an endpoint without labels (EVPN): the largest integer of both databases."""

MAX_SITE_OF_LONG_ASN = 2**16 - 1
"""A route target has two octets for the number if the AS number takes four (RFC 4360, section 3; RFC 5668)."""

MAX_INDEX = 255


def allot(used: Collection[int], largest: int, noun: str) -> int:
    """Return the number after the greatest in use, so that a number that was given back is not reused soon; once the
    greatest possible is reached, the smallest free one. Raises Refused when none is left."""
    top = max(used, default=0)
    if top < largest:
        return top + 1
    return _free(used, 1, largest, noun)


class Sites:
    """The site numbers of a region. No two endpoints have the same, whatever their flavour: the route target is derived
    from it. Numbers that can be VE IDs are reserved for VPLS endpoints."""

    def __init__(self, taken: PersistentMap[int, str] | None = None, tops: tuple[int, int] = (0, MAX_VE_ID)) -> None:
        self._taken: PersistentMap[int, str] = PersistentMap() if taken is None else taken
        self._tops = tops

    def next(self, flavour: Flavour, asn: int) -> int:
        """Return the number of the next endpoint: after the greatest in use of its kind, else the smallest free one."""
        if flavour is Flavour.VPLS:
            first, top, largest, noun = 1, self._tops[0], MAX_VE_ID, "VE IDs of the region"
        else:
            largest = MAX_SITE if asn < 2**16 else MAX_SITE_OF_LONG_ASN
            first, top, noun = MAX_VE_ID + 1, self._tops[1], "site numbers of the region"
        return top + 1 if top < largest else _free(self._taken, first, largest, noun)

    def but(self, gone: Collection[int], more: dict[int, str]) -> "Sites":
        """Return the numbers without `gone`, and with those of `more`, by endpoint."""
        taken = self._taken.updated(more, gone)
        low, high = self._tops
        low = max([low, *(number for number in more if number <= MAX_VE_ID)])
        high = max([high, *(number for number in more if number > MAX_VE_ID)])
        while low > 0 and low not in taken:
            low -= 1
        while high > MAX_VE_ID and high not in taken:
            high -= 1
        return Sites(taken, (low, high))


def _free(used: Collection[int], first: int, largest: int, noun: str) -> int:
    for number in range(first, largest + 1):
        if number not in used:
            return number
    raise conflict(f"all {largest - first + 1} {noun} are taken")
