"""The chain of a container's dumps: what the next one may leave out, and where its parents are."""

from pathlib import Path

import pytest

from agents.hypervisors.container.dumps import EARLIER, MEMORY, MOST, Dumps
from agents.hypervisors.hypervisor import Refused


@pytest.fixture
def dumps(tmp_path: Path) -> Dumps:
    return Dumps(tmp_path)


def made(dumps: Dumps, folder: Path, last: bool) -> tuple[str | None, str]:
    """Make a dump as CRIU does; return its parent's name and its own."""
    name, parent = dumps.begin(last)
    if parent:
        (folder / name / "parent").symlink_to(f"../{parent}")
    dumps.end()
    return parent, name


def test_each_dump_builds_on_the_one_before(dumps: Dumps, tmp_path: Path) -> None:
    chain = [made(dumps, tmp_path, last=False) for _ in range(MOST)]
    assert chain == list(zip([None, *EARLIER[:-1]], EARLIER, strict=True))
    assert made(dumps, tmp_path, last=True) == (EARLIER[-1], MEMORY)
    dumps.check()


def test_dumps_that_are_no_parents_are_whole_and_replace_each_other(dumps: Dumps, tmp_path: Path) -> None:
    assert [made(dumps, tmp_path, last=True) for _ in range(2)] == [(None, MEMORY)] * 2
    assert [path.name for path in tmp_path.iterdir()] == [MEMORY]


@pytest.mark.parametrize("failed", ["in the making", "at the other end"])
def test_after_a_dump_that_served_nobody_the_next_one_is_whole(dumps: Dumps, tmp_path: Path, failed: str) -> None:
    """The kernel's notes of what was written until then are gone."""
    made(dumps, tmp_path, last=False)
    if failed == "in the making":
        dumps.begin(last=False)
    else:
        made(dumps, tmp_path, last=True)
    assert made(dumps, tmp_path, last=True) == (None, MEMORY)
    assert [path.name for path in tmp_path.iterdir()] == [MEMORY]


@pytest.mark.parametrize(
    ("dump", "parent"),
    [(MEMORY, "/etc"), (MEMORY, "../../other/memory"), (MEMORY, f"../{MEMORY}"), (EARLIER[0], f"../{EARLIER[0]}"),
     (EARLIER[1], f"../{EARLIER[2]}"), (MEMORY, f"../{EARLIER[0]}/../../x")],
)  # fmt: skip
def test_a_parent_elsewhere_is_refused(dumps: Dumps, tmp_path: Path, dump: str, parent: str) -> None:
    (tmp_path / dump).mkdir()
    (tmp_path / dump / "parent").symlink_to(parent)
    with pytest.raises(Refused, match=f"the parent of dump {dump} is"):
        dumps.check()


def test_all_are_deleted(dumps: Dumps, tmp_path: Path) -> None:
    (tmp_path / "upper").mkdir()
    made(dumps, tmp_path, last=False)
    dumps.begin(last=True)
    dumps.clear()
    assert [path.name for path in tmp_path.iterdir()] == ["upper"]
