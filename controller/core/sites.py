"""Numbers that are given once and kept: site numbers of the region, endpoint indexes of a cloudlet."""

from collections.abc import Collection

from controller.core.refusals import conflict

MAX_SITE = 4095
"""A label is 8 bits of index above 12 bits of VE ID (20 bits, RFC 3032, section 2.1)."""

MAX_INDEX = 255


def allot(used: Collection[int], largest: int, noun: str) -> int:
    """The number after the greatest in use, so that one given back is not soon another's; once the greatest possible
    is reached, the smallest free one. Refuses when none is left."""
    top = max(used, default=0)
    if top < largest:
        return top + 1
    taken = set(used)
    for number in range(1, largest + 1):
        if number not in taken:
            return number
    raise conflict(f"all {largest} {noun} are taken")
