"""The container driver's pure parts: configurations, conditions, images, and what CRIU and the kernel say."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.hypervisors.container import control_group
from agents.hypervisors.container.bundle import check, config
from agents.hypervisors.container.container import seen
from agents.hypervisors.container.dumps import MEMORY, MOST
from agents.hypervisors.container.image import UNPACKED, Images
from agents.hypervisors.container.platform import processor
from agents.hypervisors.container.rounds import Round, dirty_rate, enough
from agents.hypervisors.container.runc import Runc, Status
from agents.hypervisors.container.sandbox import Sandbox
from agents.hypervisors.hypervisor import HypervisorError, Refused
from agents.hypervisors.record import Move, Record
from controller.wire.machines import Condition, Disk, Machine
from controller.wire.moves import Figures

MACHINE = Machine(
    name="ct1",
    driver="container",
    image="work",
    memory=64 << 20,
    vcpus=2,
    macs=("02:00:00:00:00:0a", "02:00:00:00:00:0b"),
    options={"command": "redis-server --save ''", "env": "A=1 'B=two words'"},
)
IMAGE: dict[str, Any] = {
    "ociVersion": "1.0.0",
    "process": {"terminal": True, "args": ["sh"], "env": ["PATH=/bin"], "capabilities": {"ambient": ["CAP_KILL"]}},
    "root": {"path": "rootfs"},
    "mounts": [{"destination": "/proc", "type": "proc"}, {"destination": "/sys/fs/cgroup", "type": "cgroup"}],
    "linux": {
        "resources": {"devices": [{"allow": False, "access": "rwm"}]},
        "namespaces": [{"type": "pid"}, {"type": "network"}],
    },
}


def test_a_configuration_is_the_images_with_the_machines_part() -> None:
    made = config(IMAGE, MACHINE, "/state/ct1", "/weft/x")
    assert made["process"]["args"] == ["redis-server", "--save", ""]
    assert made["process"]["env"] == ["PATH=/bin", "A=1", "B=two words"]
    assert made["process"]["terminal"] is False and "ambient" not in made["process"]["capabilities"]
    assert made["root"]["path"] == "/state/ct1/merged"
    assert [mount["type"] for mount in made["mounts"]] == ["proc"]
    assert {"type": "network", "path": "/proc/1/ns/net"} in made["linux"]["namespaces"]
    assert {"type": "network"} not in made["linux"]["namespaces"]
    resources = made["linux"]["resources"]
    assert resources["memory"]["limit"] == 64 << 20 and resources["cpu"]["quota"] == 2 * resources["cpu"]["period"]
    assert IMAGE["process"]["terminal"] is True, "the image's own is left as it was"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"options": {"accelerator": "kvm"}}, "option 'accelerator' is none of a container's"),
        ({"options": {"command": "'open"}}, "option 'command': No closing quotation"),
        ({"options": {"env": "A"}}, "option 'env': 'A' is not of the form NAME=VALUE"),
        ({"disk": Disk(base="lab", bytes=1 << 20)}, "a container has no disk"),
        ({"cpu": "EPYC"}, "a container has no CPU model"),
    ],
)
def test_a_machine_that_no_container_is_like_is_refused(change: dict[str, Any], text: str) -> None:
    with pytest.raises(Refused, match=text):
        check(MACHINE.model_copy(update=change))


@pytest.mark.parametrize(
    ("role", "handed", "status", "waits", "condition"),
    [
        (None, False, "running", True, "running"),
        (None, False, "paused", True, "paused"),
        (None, False, "absent", False, "stopped"),
        (None, False, "stopped", True, "stopped"),
        ("outgoing", False, "running", True, "running"),
        ("outgoing", False, "paused", True, "paused"),
        ("outgoing", True, "paused", True, "moved"),
        ("outgoing", True, "absent", False, "moved"),
        ("incoming", False, "absent", True, "waiting"),
        ("incoming", False, "absent", False, "stopped"),
        ("incoming", False, "running", True, "running"),
        ("arrived", False, "running", True, "running"),
        ("arrived", False, "stopped", True, "stopped"),
    ],
)
def test_conditions(role: Any, handed: bool, status: Status, waits: bool, condition: Condition) -> None:
    figures = Figures(paused_ms=1) if handed else None
    move = Move(name="m1", role=role, handed=figures) if role else None
    record = Record(machine=MACHINE, bridge="lan1", mtu=1400, serving="a", links={"a": True, "b": False}, move=move)
    assert seen(record, status, waits)[0] == condition


def layout(folder: Path, *manifests: dict[str, Any]) -> Images:
    (folder / "images/work").mkdir(parents=True)
    (folder / "images/work/index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": list(manifests)}))
    return Images(folder / "images", folder / "state")


GOOD = {"digest": f"sha256:{'a' * 64}", "annotations": {"org.opencontainers.image.ref.name": "latest"}}


def test_an_images_digest_is_its_manifests(tmp_path: Path) -> None:
    images = layout(tmp_path, GOOD)
    assert (images.names(), images.digest("work")) == (["work"], "a" * 64)
    with pytest.raises(Refused, match="there is no image 'other'"):
        images.digest("other")
    assert Images(tmp_path / "nowhere", tmp_path).names() == []


async def test_what_was_unpacked_of_images_that_have_gone_is_deleted(tmp_path: Path) -> None:
    images = layout(tmp_path, GOOD)
    unpacked = tmp_path / "state" / UNPACKED
    for digest in ("a" * 64, "b" * 64, "c" * 64, f"{'a' * 64}.new", f"{'d' * 64}.new"):
        (unpacked / digest).mkdir(parents=True)
    await images.tidy({"b" * 64})
    assert sorted(path.name[0] for path in unpacked.iterdir()) == ["a", "a", "b"]


@pytest.mark.parametrize(
    ("manifests", "text"),
    [
        ([], "has 0 images"),
        ([GOOD, GOOD], "has 2 images"),
        ([GOOD | {"digest": "sha512:aa"}], "has no SHA-256 digest"),
        ([GOOD | {"annotations": {}}], "has no SHA-256 digest, or no name"),
        ([GOOD | {"annotations": {"org.opencontainers.image.ref.name": "--help"}}], "or no name"),
        ([{"no": "digest"}], "cannot be read: manifests.0.digest"),
    ],
)
def test_a_folder_that_is_no_image_is_refused(tmp_path: Path, manifests: list[dict[str, Any]], text: str) -> None:
    with pytest.raises(Refused, match=text):
        layout(tmp_path, *manifests).digest("work")


def test_an_index_that_is_no_json_is_refused(tmp_path: Path) -> None:
    images = layout(tmp_path, GOOD)
    (tmp_path / "images/work/index.json").write_text("[" * 100_000)
    with pytest.raises(Refused, match="cannot be read"):
        images.digest("work")


def test_a_processor_is_the_kernels() -> None:
    one = "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: EPYC\nflags\t\t: sse fpu\n"
    assert processor(f"{one}\n{one}") == ("AuthenticAMD", "EPYC", ["fpu", "sse"])
    assert processor("") == ("", "", [])


async def test_what_is_not_there_has_no_status_and_cannot_be_entered(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    assert await Runc(tmp_path, sandbox).status() == "absent"
    (tmp_path / "sandbox").write_text("1\n")  # the pid of another process now
    assert sandbox.pid() is None
    with pytest.raises(HypervisorError, match="its sandbox has ended"):
        sandbox.inside("true")


@pytest.mark.parametrize(
    ("text", "only_version_2"),
    [("0::/user.slice\n", True), ("5:memory:/\n1:name=systemd:/\n0::/\n", False), ("4:freezer:/\n", False)],
)
def test_where_criu_needs_the_name_of_the_control_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, only_version_2: bool
) -> None:
    """With version 2 alone runc does not tell CRIU, which would restore into the source's."""
    monkeypatch.setattr(control_group, "_OWN", tmp_path / "cgroup")
    (tmp_path / "cgroup").write_text(text)
    assert control_group.unified() is only_version_2
    assert control_group.group(Path("/a/ct1")) != control_group.group(Path("/b/ct1"))


@pytest.mark.parametrize(
    ("inventory", "table"),
    [
        (b"\x16\x31\x31XN\0\0\0\x08\x02j$d4dde7ae-23ee-4aa1-bf14-0c3935d19645", "CRIU-d4dde7ae-23ee-4aa1-bf"),
        (b"\x16\x31\x31XN\0\0\0\x08\x02", None),  # of an older CRIU
        (b"j$flush ruleset; 4aa1-bf14-0c3935d1964", None),
        (None, None),
    ],
)
def test_the_lock_is_the_table_that_the_images_name(tmp_path: Path, inventory: bytes | None, table: str | None) -> None:
    (tmp_path / MEMORY).mkdir()
    if inventory is not None:
        (tmp_path / MEMORY / "inventory.img").write_bytes(inventory)
    assert Runc(tmp_path, Sandbox(tmp_path)).lock() == table


@pytest.mark.parametrize(
    ("wires", "last"),
    [
        ([], False),
        ([9_000_000], False),
        ([300_000], True),  # it fits into the pause
        ([9_000_000, 5_000_000], False),
        ([9_000_000, 6_400_000], True),  # they get no shorter
        ([9_000_000, 200_000], True),
        ([9_000_000 * 0.6**n for n in range(MOST - 1)], False),
        ([9_000_000 * 0.6**n for n in range(MOST)], True),
    ],
)
def test_rounds_go_on_until_the_rest_fits_or_nothing_is_won(wires: list[float], last: bool) -> None:
    done = [Round(n, 1 << 23, int(wire), 1 << 20, wire / 1e6) for n, wire in enumerate(wires)]
    assert enough(done, 0.3) is last


def test_a_round_of_memory_alone_is_not_the_last_one_before_the_pause() -> None:
    """CRIU refuses what it cannot restore before the container is frozen."""
    small = Round(1.0, 4096, 100, 4096, 1.0, checked=False)
    assert not enough([small], 0.3)
    assert enough([small, replace(small, checked=True)], 0.3)


def test_what_is_written_in_a_second_is_what_a_round_finds_new() -> None:
    first, second = Round(10.0, 1 << 23, 9_000_000, 1 << 23, 9.0), Round(20.0, 1 << 23, 500_000, 500_000, 0.5)
    assert (dirty_rate([first]), dirty_rate([first, second])) == (None, 50_000)
