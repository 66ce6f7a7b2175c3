"""The difference between two policies' texts: it is valid, as short as `diff -u`'s, and computed in time."""

import difflib
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.unified_diff import unified
from tests.unit.growth.pace import growth

LINES = st.lists(
    st.sampled_from(["vcps:", "  blue:", "    members:", "", "    - c1-lan", "    - c2-lan"]) | st.text("ab")
)
SHAPES: dict[str, Callable[[int], tuple[str, str]]] = {
    "few lines again and again": lambda n: _texts(n, lambda i: i * 7 % 97, lambda i: i * 5 % 97),
    "every other line changed": lambda n: _texts(n, lambda i: i, lambda i: i if i % 2 else -i),
    "backwards": lambda n: _texts(n, lambda i: i, lambda i: n - i),
    "shuffled": lambda n: _texts(n, lambda i: i, lambda i: i * 7919 % (n + 1)),
    "blocks of the same": lambda n: _texts(
        n, lambda i: i if i % 90 == 0 else i % 7, lambda i: i if i % 90 == 0 else i % 5
    ),
}


def _texts(size: int, one: Callable[[int], int], two: Callable[[int], int]) -> tuple[str, str]:
    return "".join(f"x{one(i)}\n" for i in range(size)), "".join(f"x{two(i)}\n" for i in range(size))


def patched(before: list[str], diff: str) -> list[str]:
    """Apply a difference to a text, as `patch` does."""
    found, at = list[str](), 0
    for line in diff.splitlines()[2:]:
        if head := re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line):
            begin = int(head[1]) - (head[2] != "0")
            found += before[at:begin]
            at = begin
            assert len(found) == int(head[3]) - (head[4] != "0"), "the place in the second text is wrong"
        elif line[0] == "+":
            found.append(line[1:])
        else:
            assert before[at] == line[1:]
            at += 1
            found += [line[1:]] if line[0] == " " else []
    return found + before[at:]


@given(LINES, LINES)
def test_a_difference_makes_the_second_of_the_first(one: list[str], two: list[str]) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (one, two))
    diff = unified(before, after, "revision 1", "revision 2")
    assert patched(before.splitlines(), diff) == after.splitlines()
    assert (diff == "") == (one == two)


@given(st.lists(st.integers(0, 99), max_size=60, unique=True), st.data())
def test_of_lines_that_are_there_once_it_says_what_difflib_says(numbers: list[int], data: st.DataObject) -> None:
    left = data.draw(st.sets(st.sampled_from(numbers))) if numbers else set()
    one, two = [f"l{n}" for n in numbers], [f"l{n}" for n in numbers if n not in left]
    expected = list(difflib.unified_diff(one, two, "revision 1", "revision 2", lineterm=""))
    assert unified("\n".join(one), "\n".join(two), "revision 1", "revision 2").splitlines() == expected


@pytest.mark.parametrize("name", SHAPES)
def test_a_difference_costs_no_more_for_each_line_of_long_texts(name: str) -> None:
    def make(size: int) -> tuple[str, str]:
        return SHAPES[name](100 * size)  # short texts are compared line by line

    assert growth(lambda texts: unified(*texts, "revision 1", "revision 2"), make, 32) is None


def test_difflib_alone_would() -> None:
    def alone(texts: tuple[str, str]) -> None:
        list(difflib.unified_diff(texts[0].splitlines(), texts[1].splitlines()))

    assert growth(alone, SHAPES["few lines again and again"], 4096) is not None
