"""For any reader of foreign input, twice the input costs at most twice as much."""

import ast

import pytest

from tests.unit.growth.expressions import mentions, name, nodes, sources
from tests.unit.growth.own_readers import OWN
from tests.unit.growth.pace import growth
from tests.unit.growth.readers import CASES

READS = {
    "loads", "model_validate_json", "validate_json", "splitlines", "readuntil", "readexactly", "readline", "recv",
    "recvfrom", "recvmsg", "recv_into", "unpack_from", "iter_unpack", "unpack", "b64decode",
}  # fmt: skip
"""Methods and functions that read bytes and texts."""
LIBRARIES = {("yaml", "parse"), ("jwt", "decode")}
ELSEWHERE = ("controller/cli/", "lab/", "policies/", "migrations/")
"""Programs that users run for themselves: no other user waits for them."""


def readers() -> set[str]:
    """Return the files of the controller and the agents that read anything."""
    found = set()
    for path in sources():
        if name(path).startswith(ELSEWHERE) or not mentions(path, *READS, *(of for of, _ in LIBRARIES)):
            continue
        for node in nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                of = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
                if node.func.attr in READS or (of, node.func.attr) in LIBRARIES:
                    found.add(name(path))
    return found


def test_every_reader_has_a_case_or_reads_nothing_foreign() -> None:
    found = readers()
    assert not (missing := found - CASES.keys() - OWN.keys()), f"{sorted(missing)} read: give each a case in CASES"
    assert not (gone := OWN.keys() - found), f"{sorted(gone)} read nothing any more: take them out of OWN"
    assert not CASES.keys() & OWN.keys()
    assert not (gone := CASES.keys() - {name(path) for path in sources()}), f"{sorted(gone)} are no files"


@pytest.mark.parametrize("reader", CASES)
def test_a_reader_costs_no_more_than_its_input(reader: str) -> None:
    for case in CASES[reader]:
        assert (grown := growth(case.read, case.shape, case.longest)) is None, f"{reader}, {case.name}: {grown}"


def test_a_reader_that_grows_is_found() -> None:
    def copies(data: bytes) -> None:
        while data:
            data = data[4:]

    assert growth(copies, bytes, 65536) is not None
    assert growth(lambda size: [size] * size, int, 65536) is None
