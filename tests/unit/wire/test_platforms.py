"""The differences that prevent a machine from moving from one cloudlet to another."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.wire.machines import Disk, Machine
from controller.wire.platforms import Platform, differences, files

MACHINE = Machine(
    name="web",
    driver="qemu",
    image="lab",
    memory=1 << 28,
    macs=("52:54:00:00:00:0a", "52:54:00:00:00:0b"),
    disk=Disk(base="debian", bytes=1 << 30),
)
FILES = {"lab/kernel": "a" * 64, "lab/initramfs": "b" * 64, "debian/disk.qcow2": "c" * 64}
HERE = Platform(
    version="QEMU 10.0.2",
    board="pc-q35-10.0",
    accelerator="kvm",
    cpu="host",
    vendor="AuthenticAMD",
    features=["avx2", "sse2"],
    files=FILES | {"other/disk.qcow2": "d" * 64},
)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"files": FILES | {"debian/disk.qcow2": "e" * 64}}, "disk.qcow2: here sha256 cccccccccccc, there sha256 eeee"),
        ({"files": FILES | {"lab/kernel": "e" * 64}}, "lab/kernel: here sha256 aaaaaaaaaaaa, there sha256 eeee"),
        ({"files": FILES | {"lab/initramfs": "e" * 64}}, "lab/initramfs: here sha256 bbbbbbbbbbbb"),
        ({"files": {"lab/kernel": "a" * 64, "debian/disk.qcow2": "c" * 64}}, "lab/initramfs: .* there none"),
        ({"board": "pc-q35-10.1"}, "machine type: here pc-q35-10.0, there pc-q35-10.1"),
        ({"accelerator": "tcg"}, "accelerator: here kvm, there tcg"),
        ({"vendor": "GenuineIntel"}, "CPU vendor: here AuthenticAMD, there GenuineIntel"),
        ({"features": ["sse2"], "cpu": "qemu64"}, "CPU: here host, there qemu64; only here avx2"),
        ({"features": ["avx2", "la57", "sse2"]}, "only there la57"),
        ({"features": [], "cpu": "max"}, "CPU: here host, there max"),
    ],
)  # fmt: skip
def test_each_difference_is_named(change: dict[str, Any], said: str) -> None:
    (found,) = differences(MACHINE, HERE, HERE.model_copy(update=change))
    assert pytest.raises(AssertionError, match=said).matches(AssertionError(found))


def test_what_the_machine_does_not_need_may_differ() -> None:
    there = HERE.model_copy(update={"version": "QEMU 10.1.0", "files": FILES | {"other/disk.qcow2": "f" * 64}})
    assert differences(MACHINE, HERE, there) == []
    plain = MACHINE.model_copy(update={"disk": None})
    assert files(plain) == ["lab/kernel", "lab/initramfs", "lab/manifest"]
    assert differences(plain, HERE, HERE.model_copy(update={"files": FILES | {"debian/disk.qcow2": "f" * 64}})) == []


@given(st.lists(st.sampled_from(["avx2", "sse2", "la57", "pku"]), unique=True), st.booleans())
def test_it_is_the_same_from_either_end(features: list[str], same: bool) -> None:
    there = HERE.model_copy(update={"features": features, "accelerator": "kvm" if same else "tcg"})
    one, two = differences(MACHINE, HERE, there), differences(MACHINE, there, HERE)
    assert len(one) == len(two)
    assert (not one) == (same and (not features or set(features) == set(HERE.features)))


def test_what_is_not_known_is_not_written() -> None:
    """After a downgrade an agent of an earlier release reads a machine's record, and refuses fields that it does not
    know."""
    assert "models" not in HERE.model_dump(mode="json")
    assert Platform.model_validate_json(HERE.model_dump_json()) == HERE
