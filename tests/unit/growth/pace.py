"""The growth of a function's cost, by the ratio of its CPU time at n, n/2 and n/4, and never by a time alone."""

import gc
import math
import time
from collections.abc import Callable
from typing import TypeVar

Input = TypeVar("Input")

LONGEST = 8192
FLOOR = 0.002
"""Seconds of CPU below which times are not compared. A linear expression needs a fifth of it for LONGEST characters,
and a quadratic one ten times as much."""
MOST = 3.0
"""The permitted factor in cost for twice the size: 2 is linear, 4 is quadratic."""

_STEPS = (12, 16, 20, 24, 32, 64, 128)  # an exponential cost is met before it takes minutes
_AT_LEAST, _AT_MOST = 3, 12
"""The least and the greatest number of measurements of each size. The shortest time counts, and a suspicious function
is measured more often."""


def growth(work: Callable[[Input], object], shape: Callable[[int], Input], longest: int = LONGEST) -> str | None:
    """Return in words how the cost of `work` grows if it grows faster than its input; None if it does not. `shape`
    makes an input of a size. Sizes rise to `longest`; the first size that costs more than FLOOR is compared."""
    sizes = [*_STEPS]
    while sizes[-1] < longest:
        sizes.append(min(4 * sizes[-1], longest))
    for size in sizes:
        if _seconds(work, shape(size)) < FLOOR:
            continue
        parts = (size, size // 2, size // 4)
        least = [math.inf] * len(parts)
        for times in range(1, _AT_MOST + 1):  # in turn, so that other load on the machine affects all three
            least = [min(so_far, _seconds(work, shape(part))) for so_far, part in zip(least, parts, strict=True)]
            grows = least[0] > FLOOR and least[0] > MOST**2 * least[2]
            if times >= _AT_LEAST and not grows:
                break
        else:
            half, quarter = (least[0] / other for other in least[1:])
            return f"{half:.1f} times the cost at {size} as at {parts[1]}, {quarter:.1f} as at {parts[2]}"
    return None


def _seconds(work: Callable[[Input], object], given: Input) -> float:
    collects = gc.isenabled()
    gc.disable()  # a collection would count the garbage of other code
    try:
        before = time.thread_time()
        work(given)
        return time.thread_time() - before
    finally:
        if collects:
            gc.enable()
