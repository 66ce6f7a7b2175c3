"""The comparison of `make verify-memory`, and its report."""

import ctypes
import os

import pytest

from lab.verify_memory import page
from lab.verify_memory.blocks import PAGE, RamBlock, blocks, differing
from lab.verify_memory.trial import Compared
from lab.verify_memory.ways import ALL, Way, chosen

SAID = """\
              Block Name    PSize              Offset               Used              Total                HVA  RO
                  pc.ram    4 KiB  0x0000000000000000 0x0000000010000000 0x0000000010000000 0x00007f0be3e00000  rw
    /rom@etc/acpi/tables    4 KiB  0x0000000010080000 0x0000000000020000 0x0000000000200000 0x00007f0be3a00000  ro
 0000:00:02.0/virtio.rom    2 MiB  0x0000000010040000 0x0000000000040000 0x0000000000040000 0x00007f0be3800000  ro
"""


def test_where_the_blocks_are() -> None:
    found = blocks(SAID)
    assert list(found) == ["pc.ram", "/rom@etc/acpi/tables", "0000:00:02.0/virtio.rom"]
    assert found["/rom@etc/acpi/tables"] == RamBlock("/rom@etc/acpi/tables", 0x20000, 0x7F0BE3A00000)
    with pytest.raises(ValueError, match="no RAM block"):
        blocks("unknown command: 'info ramblock'")


def memory(size: int) -> tuple["ctypes.Array[ctypes.c_char]", RamBlock]:
    made = ctypes.create_string_buffer(bytes(range(256)) * (size // 256), size)
    return made, RamBlock("pc.ram", size, ctypes.addressof(made))


def test_each_byte_that_differs_is_found_with_its_page() -> None:
    """The test reads this process's own memory in the same way: across the end of a chunk, and in a short last page."""
    size = (9 << 20) + 100
    size -= size % 256
    (one, here), (two, there) = memory(size), memory(size)
    pid = os.getpid()
    assert differing((pid, {"pc.ram": here}), (pid, {"pc.ram": there})) == (-(-size // PAGE), [])
    at = [0, PAGE - 1, 5 << 20, size - 1]
    for offset in at:
        two[offset] = bytes([one[offset][0] ^ 1])
    _, wrong = differing((pid, {"pc.ram": here}), (pid, {"pc.ram": there}))
    pages = sorted({offset // PAGE * PAGE for offset in at})
    assert wrong == [f"pc.ram+{offset:#x}" for offset in pages]


def test_other_blocks_are_no_comparison() -> None:
    _, here = memory(PAGE)
    with pytest.raises(ValueError, match="other RAM blocks"):
        differing((os.getpid(), {"pc.ram": here}), (os.getpid(), {"pc.rom": here}))


def test_all_that_the_drivers_offer_is_a_way() -> None:
    assert len(ALL) == len({way.name for way in ALL}) == 20
    assert {way.tuning.post_copy for way in chosen(["*/post-copy/*"])} == {True}
    assert Way("qemu", "xbzrle", 2).options == {"compression": "xbzrle"}
    assert not Way("qemu", "none", 1).tuning.compression and not Way("qemu", "none", 1).options
    assert chosen(["nothing"]) == []


def test_what_was_found_is_told() -> None:
    one = Compared("qemu/zstd/1", 100, [], "", 7.0, 80, 9, 0.2)
    two = Compared("qemu/zstd/1", 100, ["pc.ram+0x1000"], "it does not answer: gone", 7.0, 90, 11, 0.2)
    assert "| qemu/zstd/1 | 2 | 1 | 1 | 1 | 200 | 85 | 10 |" in page.table([one, two])
