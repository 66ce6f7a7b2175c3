"""A source connects to the cloudlet that the order names, whatever address the destination's agent writes."""

import ipaddress
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agents.hypervisors import libvirt, qemu
from agents.hypervisors import target as uris
from agents.hypervisors.found import Driver, Drivers
from agents.hypervisors.hypervisor import Capabilities, Hypervisor, Networked, Refused, Site
from agents.hypervisors.peer import check
from agents.hypervisors.target import HostPort
from agents.moves.acts import carry_out
from agents.moves.execution_context import ExecutionContext as Cloudlet
from controller.wire.machines import Disk, Machine
from controller.wire.moves import Act, Figures, Order, Target

PEER = "192.0.2.2"
PLAIN = Machine(name="vm1", driver="qemu", image="lab", memory=1 << 28, macs=("52:54:00:00:00:0a", "52:54:00:00:00:0b"))
MACHINE = PLAIN.model_copy(update={"disk": Disk(base="lab", bytes=1 << 29)})
MEMORY, DISK = f"tcp:{PEER}:49152", f"nbd://{PEER}:49153/disk"

WRONG: dict[str, tuple[list[str], str | None, str]] = {
    "memory to another": (
        ["tcp:198.51.100.9:49152"],
        DISK,
        "memory would go to 198.51.100.9, .* order is for 192.0.2.2",
    ),
    "the disk to another": ([MEMORY], "nbd://198.51.100.9:49153/disk", "the disk would go to 198.51.100.9"),
    "to the source itself": (["tcp:127.0.0.1:49152"], DISK, "memory would go to 127.0.0.1"),
    "to the peer in IPv6's form": (["tcp:[::ffff:192.0.2.2]:49152"], DISK, "memory would go to ::ffff:"),
    "the peer second": (["tcp:198.51.100.9:49152", MEMORY], DISK, "memory would go to 198.51.100.9"),
    "a name": (["tcp:db.example.net:5432"], DISK, "not a place to send memory to"),
    "a name that looks like the peer": ([f"tcp:{PEER}.example.net:5432"], DISK, "not a place to send memory to"),
    "a name for the disk": ([MEMORY], "nbd://localhost:49153/disk", "not a place"),
    "a number for a host": (["tcp:3221225986:49152"], DISK, "not a place to send memory to"),
    "octal": (["tcp:0300.0.02.02:49152"], DISK, "not a place to send memory to"),
    "a scope": (["tcp:[fe80::1%eth0]:49152"], DISK, "not a place to send memory to"),
    "other digits": ([f"tcp:{PEER}:٤٩١٥٢"], DISK, "not a place to send memory to"),
    "words for ss": ([MEMORY, "tcp:192.0.2.3 or src 0.0.0.0/0:49152"], DISK, "not a place to send memory to"),
    "a program": (["exec:reboot"], DISK, "not a place to send memory to"),
    "a file": (["file:/etc/passwd"], DISK, "not a place to send memory to"),
    "a socket": (["unix:/run/x"], DISK, "not a place to send memory to"),
    "a file for a disk": ([MEMORY], "nbd:unix:/run/x", "not a place for a disk"),
    "another export": ([MEMORY], f"nbd://{PEER}:49153/base", "not a place for a disk"),
    "options": ([f"{MEMORY},mptcp=on"], DISK, "not a place to send memory to"),
    "no port": ([f"tcp:{PEER}:0"], DISK, "not a place to send memory to"),
    "a port beyond": ([f"tcp:{PEER}:65536"], DISK, "not a place to send memory to"),
    "a system port": ([f"tcp:{PEER}:22"], DISK, "memory would go to port 22"),
    "a system port for the disk": ([MEMORY], f"nbd://{PEER}:1023/disk", "the disk would go to port 1023"),
    "twice": ([MEMORY, MEMORY], DISK, "the same place twice"),
    "a path twice": ([MEMORY, "tcp:192.0.2.9:49152", "tcp:192.0.2.9:49152"], DISK, "the same place twice"),
    "a path at another port": ([MEMORY, "tcp:192.0.2.9:25"], DISK, "has not the port of the first one, 49152"),
    "a path to the source": ([MEMORY, "tcp:127.0.0.1:49152"], DISK, "not an address of another host"),
    "a path to all": ([MEMORY, "tcp:255.255.255.255:49152"], DISK, "not an address of another host"),
    "a path to many": ([MEMORY, "tcp:[ff02::1]:49152"], DISK, "not an address of another host"),
    "a path to nobody": ([MEMORY, "tcp:0.0.0.0:49152"], DISK, "not an address of another host"),
    "too many paths": ([MEMORY, *(f"tcp:192.0.2.{n}:49152" for n in range(10, 18))], DISK, "9 places"),
    "none": ([], DISK, "0 places"),
    "one place for both": ([MEMORY], f"nbd://{PEER}:49152/disk", "would both go to 192.0.2.2:49152"),
    "no disk": ([MEMORY], None, "the machine has a disk"),
    "a terminal's commands": (["tcp:\x1b[2J:1"], DISK, "not a place to send memory to"),
    "long": (["tcp:" + "1" * 100_000 + ":49152"], DISK, "not a place to send memory to"),
}


def target(memory: list[str], disk: str | None) -> Target:
    """Return a target without validation, so that it may break the bounds of the wire format."""
    return Target.model_construct(memory=memory, disk=disk)


def drivers(folder: Path) -> dict[str, Hypervisor]:
    here = Site("c1", folder, folder, "192.0.2.1")
    return {"qemu": qemu.driver(here), "libvirt": libvirt.driver(here)}


@pytest.mark.parametrize(("memory", "disk", "said"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("name", ["qemu", "libvirt"])
def test_what_leads_elsewhere_is_refused_by_name(
    name: str, memory: list[str], disk: str | None, said: str, tmp_path: Path
) -> None:
    driver = drivers(tmp_path)[name]
    assert isinstance(driver, Networked)
    with pytest.raises(Refused, match=f"agent gives for vm1 is refused: .*{said}") as caught:
        driver.check(MACHINE, target(memory, disk), PEER)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 400


def test_a_disk_for_a_machine_without_one_is_refused() -> None:
    check(PLAIN, target([MEMORY], None), PEER)
    with pytest.raises(Refused, match="the machine has no disk"):
        check(PLAIN, target([MEMORY], DISK), PEER)


@pytest.mark.parametrize("peer", [PEER, "2001:db8::2", "127.0.0.1"])
def test_what_a_destination_of_ours_says_is_taken(peer: str) -> None:
    paths = [HostPort(address, 49152) for address in (peer, "198.51.100.2", "2001:db8:9::2")]
    for count in (1, 2, 3):
        check(MACHINE, uris.target(paths[:count], HostPort(peer, 49153)), peer)


words = st.one_of(
    st.text(max_size=30),
    st.builds(
        "{}{}{}{}{}".format,
        st.sampled_from(["tcp:", "nbd://", "exec:", "", "TCP:", "tcp://"]),
        st.one_of(
            st.ip_addresses().map(str),
            st.ip_addresses(v=6).map("[{}]".format),
            st.sampled_from([PEER, f"[::ffff:{PEER}]", "localhost", f"{PEER}@198.51.100.1", f"{PEER} ", f"{PEER}\n"]),
        ),
        st.sampled_from([":", "", "::"]),
        st.one_of(st.integers(-1, 70_000).map(str), st.text(st.characters(categories=["Nd"]), max_size=5)),
        st.sampled_from(["", "/disk", "/base", ",mptcp=on", "\n"]),
    ),
)


@given(memory=st.lists(words, max_size=10), disk=st.none() | words)
@example(memory=[MEMORY], disk=DISK)
@example(memory=[MEMORY, "tcp:192.0.2.9:49152"], disk=DISK)
def test_whatever_is_written_is_refused_or_leads_to_the_peer(memory: list[str], disk: str | None) -> None:
    said = target(memory, disk)
    try:
        check(MACHINE, said, PEER)
    except Refused as refused:
        assert str(refused).isprintable() and len(str(refused)) < 400
        return
    places, copy = uris.memory(said), uris.disk(said)
    assert places[0].host == copy.host == PEER and places[0] != copy
    assert all(1024 <= place.port < 1 << 16 and ipaddress.ip_address(place.host) for place in (*places, copy))
    assert len({place.host for place in places}) == len(places) <= 8


@pytest.mark.parametrize("act", ["disk", "memory"])
@pytest.mark.parametrize("name", ["qemu", "libvirt"])
async def test_nothing_is_asked_of_a_driver_before_its_target_is_looked_at(
    name: str, act: Act, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = drivers(tmp_path)[name]
    place, asked = Cloudlet(Drivers("c1", tmp_path, {})), list[str]()

    async def driver(order: Order) -> Driver:
        return Driver(name, found, Capabilities("test", disk=True))

    async def moving(*given: object) -> AsyncIterator[Figures]:
        asked.append(act)
        yield Figures()

    monkeypatch.setattr(place, "driver", driver)
    monkeypatch.setattr(found, act, moving)

    def order(target: Target, peer: str | None = PEER) -> Order:
        to = {"peer": "c2", "peer_vtep": peer, "target": target}
        return Order.model_validate({"move": "m1", "number": 1, "act": act, "machine": MACHINE, "endpoint": "e"} | to)

    good, wrong = Target(memory=[MEMORY], disk=DISK), Target(memory=["tcp:203.0.113.5:3306"], disk=DISK)
    ended = await carry_out(order(wrong), place, lambda _: None)
    assert ended.state == "refused" and "would go to 203.0.113.5, and the order is for 192.0.2.2" in ended.detail
    ended = await carry_out(order(good, None), place, lambda _: None)
    assert ended.state == "refused" and "does not say at which address the other cloudlet is" in ended.detail
    assert asked == []
    await carry_out(order(good), place, lambda _: None)
    assert asked == [act]
