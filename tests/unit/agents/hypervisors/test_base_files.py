"""The files of an image that serve as references, from umoci's list of them."""

import hashlib
import os
from pathlib import Path

import pytest

from agents.hypervisors.container.base_files import LEAST, MOST, ROOM, base_files

LIST = """#          user: root
#      keywords: size,type,uid,gid,mode,link,nlink,tar_time,sha256digest,xattr

# .
/set type=file nlink=1 mode=0664 uid=0 gid=0
. size=4096 type=dir mode=0755 nlink=10 tar_time=1796004415.000000000
    small size=10 sha256digest={small}
    big size=70000 mode=0755 sha256digest={big}
    link size=70000 type=link link=big

# usr
usr size=4096 type=dir
# usr/lib
    lib size=4096 type=dir
        \\303\\244\\040b size=90000 sha256digest={odd}
..
..
    last size=65536 sha256digest={last}
..
"""


def test_the_largest_files_come_first_with_their_digests(tmp_path: Path) -> None:
    digests = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("small", "big", "odd", "last")}
    (tmp_path / "sha256_0.mtree").write_text(LIST.format(**digests))
    root = tmp_path / "rootfs"
    assert [(digest, path.resolve()) for digest, path in base_files(tmp_path)] == [
        (digests["odd"], root / "usr/lib/\u00e4 b"),
        (digests["big"], root / "big"),
        (digests["last"], root / "last"),
    ]


def test_no_more_than_a_move_can_hash(tmp_path: Path) -> None:
    sizes = [ROOM + 1, ROOM // 2, ROOM // 2, *([LEAST] * (MOST + 5))]
    lines = [f"f{n} size={size} sha256digest={n:064}" for n, size in enumerate(sizes)]
    (tmp_path / "x.mtree").write_text("\n".join(["/set type=file", ". type=dir", *lines, ".."]))
    assert [path.name for _, path in base_files(tmp_path)] == ["f2", "f1"]
    (tmp_path / "x.mtree").write_text("\n".join(["/set type=file", ". type=dir", *lines[3:], ".."]))
    assert len(base_files(tmp_path)) == MOST


@pytest.mark.parametrize("text", [None, "", "a size=many", "..\n..\n", os.fsdecode(b"\xff size=99999")])
def test_a_list_that_nobody_can_read_names_none(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "x.mtree").write_text(text, errors="surrogateescape")
    assert base_files(tmp_path) == []
