"""The filesystem mirror of the provider: its layout, its checksums, and archives that do not differ between builds."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from deploy.packages.version import Version
from deploy.terraform import mirror


@pytest.mark.parametrize(
    ("python", "semantic"),
    [("1.2.3", "1.2.3"), ("1.2.4.dev7+g0123abc", "1.2.4-dev7"), ("1.2.4.dev7+g0123abc.changed", "1.2.4-dev7")],
)
def test_a_version_is_semantic(python: str, semantic: str) -> None:
    assert mirror.semantic(Version(python)) == semantic


def test_an_archive_has_the_program_and_its_licences(tmp_path: Path) -> None:
    program, licence = tmp_path / "program", tmp_path / "licence"
    program.write_bytes(b"\x7fELF")
    licence.write_text("MPL")
    files = {mirror.program("1.2.3"): program, "licences/a/LICENSE": licence}
    made = [mirror.pack(tmp_path / name, "1.2.3", "linux_amd64", files, 1_700_000_000) for name in ("one", "two")]
    name = "weft.internal/weft/weft/terraform-provider-weft_1.2.3_linux_amd64.zip"
    assert made[0] == tmp_path / "one" / name and made[0].read_bytes() == made[1].read_bytes()
    with zipfile.ZipFile(made[0]) as archive:
        modes = {one.filename: one.external_attr >> 16 for one in archive.infolist()}
    assert modes == {"terraform-provider-weft_v1.2.3": 0o100755, "licences/a/LICENSE": 0o100644}
    mirror.checksums(tmp_path / "one")
    digest = hashlib.sha256(made[0].read_bytes()).hexdigest()
    assert (tmp_path / "one/SHA256SUMS").read_text() == f"{digest}  {name}\n"
