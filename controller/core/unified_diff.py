"""The difference of two texts in the form of `diff -u`, at a cost that grows with the texts. Pure.

`difflib` alone takes minutes for texts in which a few lines are repeated again and again. Here the lines that occur
once in both texts are found first, as in Bram Cohen's "patience diff", and `difflib` compares the parts between
them."""

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

MOST = 10_000
"""The most pairs of lines between two anchors that are compared. A part with more is replaced as a whole."""

Lines = Sequence[str]
Opcode = tuple[str, int, int, int, int]


def unified(before: str, after: str, name: str, other: str) -> str:
    """Return the difference in lines, with three around each change; empty if there is none."""
    one, two = before.splitlines(), after.splitlines()
    matcher = difflib.SequenceMatcher(None, one, two)
    matcher.opcodes = list(_opcodes(one, two))  # type: ignore[attr-defined]  # so that it does not compute them
    found = []
    for group in matcher.get_grouped_opcodes():
        (_, start, _, to, _), (_, _, end, _, until) = group[0], group[-1]
        found.append(f"@@ -{_range(start, end)} +{_range(to, until)} @@")
        for tag, i, j, k, m in group:
            if tag == "equal":
                found += [f" {line}" for line in one[i:j]]
                continue
            found += [f"-{line}" for line in one[i:j]]
            found += [f"+{line}" for line in two[k:m]]
    return "".join(f"{line}\n" for line in (f"--- {name}", f"+++ {other}", *found)) if found else ""


def _range(start: int, end: int) -> str:
    """Return a range as `diff -u` writes it: lines count from 1, an empty range is after the line that it names, one
    line is bare."""
    if end - start == 1:
        return f"{start + 1}"
    return f"{start + (end > start)},{end - start}"


def _opcodes(one: Lines, two: Lines) -> Iterator[Opcode]:
    """Yield the steps from the first text to the second; adjacent equal steps are merged."""
    steps: list[Opcode] = []
    for step in _steps(one, two):
        if steps and steps[-1][0] == step[0] == "equal":
            tag, i, _, k, _ = steps.pop()
            step = (tag, i, step[2], k, step[4])
        steps.append(step)
    yield from steps


def _steps(one: Lines, two: Lines) -> Iterator[Opcode]:
    at, to = 0, 0
    for i, k in [*_anchors(one, two), (len(one), len(two))]:
        yield from _between(one, two, (at, i, to, k))
        if i < len(one):
            yield "equal", i, i + 1, k, k + 1
        at, to = i + 1, k + 1


def _between(one: Lines, two: Lines, part: tuple[int, int, int, int]) -> Iterator[Opcode]:
    i, j, k, m = part
    same = 0
    while i + same < j and k + same < m and one[i + same] == two[k + same]:
        same += 1
    if same:
        yield "equal", i, i + same, k, k + same
    i, k, end = i + same, k + same, 0
    while j - end > i and m - end > k and one[j - end - 1] == two[m - end - 1]:
        end += 1
    j, m = j - end, m - end
    if (j - i) * (m - k) > MOST:
        yield "replace", i, j, k, m
    elif i < j or k < m:
        for tag, *steps in difflib.SequenceMatcher(None, one[i:j], two[k:m], autojunk=False).get_opcodes():
            yield tag, i + steps[0], i + steps[1], k + steps[2], k + steps[3]
    if end:
        yield "equal", j, j + end, m, m + end


def _anchors(one: Lines, two: Lines) -> list[tuple[int, int]]:
    """Return the positions of lines that occur once in both texts, as many as are in the same order in both."""
    here, there = Counter(one), Counter(two)
    places = {line: k for k, line in enumerate(two) if there[line] == 1}
    pairs = [(i, places[line]) for i, line in enumerate(one) if here[line] == 1 and line in places]
    ends, piles, before = list[int](), list[int](), dict[int, int]()  # longest increasing sequence, by patience sorting
    for number, (_, k) in enumerate(pairs):
        pile = bisect_left(ends, k)
        if pile:
            before[number] = piles[pile - 1]
        ends[pile : pile + 1], piles[pile : pile + 1] = [k], [number]
    found, last = list[tuple[int, int]](), piles[-1] if piles else None
    while last is not None:
        found.append(pairs[last])
        last = before.get(last)
    return found[::-1]
