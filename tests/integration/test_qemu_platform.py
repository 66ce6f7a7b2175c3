"""Real QEMUs: a machine does not leave for a cloudlet whose platform differs."""
# ruff: noqa: F401, F811 - fixtures are imported

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from agents.hypervisors.hypervisor import Comparable, Refused
from controller.core.cpu_baseline import baseline
from controller.wire.moves import Tuning
from controller.wire.platforms import differences
from lab.hosts import Hosts, last
from tests.integration.qemu_hosts import boot, condition, copy, hand_over, images, machine, move, prepare, right, work

pytestmark = [pytest.mark.lab]


class Unequal(Hosts):
    """Two hosts; guests of the second see another CPU."""

    def options(self, number: int) -> Mapping[str, str]:
        return {"cpu": "qemu64"} if number else {}


def refused(hosts: Hosts, name: str, said: str) -> None:
    """Check that the move is refused before anything is copied, and that the guest continues to run."""
    target = prepare(hosts.two, name)
    for copying in (hosts.one.driver.disk, hosts.one.driver.memory):
        with pytest.raises(Refused, match=said):
            hosts.one.do(last(copying("vm1", name, target, Tuning())))
    hosts.two.do(hosts.two.driver.abort("vm1", name))
    assert (condition(hosts.one), condition(hosts.two)) == ("running", "gone")
    right(hosts.one, "memory")


def test_another_base_and_another_kernel(tmp_path: Path, images: Path) -> None:
    """The other files have the same name and size. With the original files the machine moves."""
    own = tmp_path / "images"
    shutil.copytree(images / "lab", own / "lab")
    hosts = Hosts(tmp_path / "hosts", own)
    try:
        boot(hosts.one)
        work(hosts.one, "memory", "start", "mib=8", "rate=1")
        for name, place in (("disk.qcow2", -1), ("kernel", 4096)):
            path = own / "lab" / name
            kept = path.rename(own / f"kept-{name}")
            there = bytearray(kept.read_bytes())
            there[place] ^= 1
            path.write_bytes(there)
            refused(hosts, f"m-{path.stem}", rf"file lab/{name}: here sha256 \w+, there sha256 \w+")
            kept.rename(path)
        move(hosts.one, hosts.two, "m3")
        right(hosts.two, "memory")
    finally:
        hosts.close()


@pytest.mark.smoke
def test_another_cpu(tmp_path: Path, images: Path) -> None:
    """Both drivers also report the difference beforehand, as part of their cloudlets' platforms."""
    hosts = Unequal(tmp_path, images)
    try:
        boot(hosts.one)
        work(hosts.one, "memory", "start", "mib=8", "rate=1")
        refused(hosts, "m1", r"CPU: here max,-la57, there qemu64; only here .*(aes|avx|bmi1)")
        here, there = hosts.one.driver, hosts.two.driver
        assert isinstance(here, Comparable) and isinstance(there, Comparable)
        (told,) = differences(machine(), hosts.one.do(here.platform()), hosts.two.do(there.platform()))
        assert "only here" in told and "qemu64" in told
    finally:
        hosts.close()


def test_a_common_baseline(tmp_path: Path, images: Path) -> None:
    """A machine with a recorded CPU moves to a host whose driver gives other machines another CPU. A model that lacks a
    feature here is refused, where QEMU alone would drop the missing features."""
    hosts = Unequal(tmp_path, images)
    try:
        here, there = hosts.one.driver, hosts.two.driver
        assert isinstance(here, Comparable) and isinstance(there, Comparable)
        reports = {"c1": hosts.one.do(here.platform()), "c2": hosts.two.do(there.platform())}
        assert all(machine().image in (report.images or []) for report in reports.values())
        cpu = baseline(reports)
        assert cpu is not None and cpu.split(",")[0] not in ("qemu64", "max")
        models = reports["c1"].models or {}
        lacking = next(name for name, model in sorted(models.items()) if set(model.missing) - {"la57"})
        with pytest.raises(Refused, match=f"vm1 cannot have the CPU {lacking} here: it lacks"):
            boot(hosts.one, machine(cpu=lacking))
        boot(hosts.one, machine(cpu=cpu))
        work(hosts.one, "memory", "start", "mib=8", "rate=1")
        target = prepare(hosts.two, "m1", what=machine(cpu=cpu))
        assert target.platform is not None and target.platform.cpu == cpu
        copy(hosts.one, "m1", target)
        hand_over(hosts.one, hosts.two, "m1")
        right(hosts.two, "memory")
    finally:
        hosts.close()
