"""The libvirt driver's decisions and its door, without a libvirtd."""

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import libvirt
import libvirt_qemu
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.hypervisors.hypervisor import HypervisorError, Refused
from agents.hypervisors.libvirt.connection import Connection, LibvirtAway, NobodyThere
from agents.hypervisors.libvirt.description import description
from agents.hypervisors.libvirt.domain import Domain
from agents.hypervisors.libvirt.guest_agent import DomainAgent
from agents.hypervisors.libvirt.interface import plugged
from agents.hypervisors.libvirt.processor import models, processor
from agents.hypervisors.qemu.command_line import Accelerator
from agents.hypervisors.qemu.image import Image
from agents.hypervisors.record import Move, Record
from controller.wire.machines import Disk, Machine

GOLDEN = Path(__file__).parent / "libvirt.xml"
FOLDER = Path("/var/lib/weft/hypervisors/libvirt/vm1")
IMAGES = Path("/var/lib/weft/images/lab")
UUID = "6f9619ff-8b86-5011-b42d-00c04fc964ff"
MACHINE = Machine(
    name="vm1",
    driver="libvirt",
    image="lab",
    memory=256 << 20,
    vcpus=2,
    macs=("52:54:00:00:00:0a", "52:54:00:00:00:0b"),
    disk=Disk(base="lab", bytes=512 << 20),
)
TCG = Accelerator("tcg", "max,-la57")
FILES = Image(IMAGES / "kernel", IMAGES / "initramfs", "console=ttyS0 quiet", IMAGES / "disk.qcow2")
anything = st.text(st.characters(min_codepoint=32, max_codepoint=0xFFFD, exclude_categories=["Cs"]), min_size=1)


def kept(incoming: bool = False, **changes: object) -> Record:
    move = Move(name="m1", role="incoming") if incoming else None
    machine = MACHINE.model_copy(update=changes)
    return Record(machine=machine, bridge="lan1", mtu=1400, serving="a", links={"a": True, "b": False}, move=move)


def described(
    record: Record, folder: Path = FOLDER, files: Image = FILES, accelerator: Accelerator = TCG
) -> ElementTree.Element:
    text = description(record, UUID, folder, files, accelerator, "/usr/bin/qemu-system-x86_64", ("dac", "apparmor"))
    return ElementTree.fromstring(text)


def test_a_machine_as_libvirt_is_told() -> None:
    text = description(
        kept(incoming=True), UUID, FOLDER, FILES, TCG, "/usr/bin/qemu-system-x86_64", ("dac", "apparmor")
    )
    assert text == GOLDEN.read_text()


def test_both_ends_differ_in_nothing_but_that_one_waits() -> None:
    source, target = (described(kept(incoming)) for incoming in (False, True))
    name = "{http://libvirt.org/schemas/domain/qemu/1.0}commandline"
    words = [[word.get("value") for word in end.findall(f"{name}/*")] for end in (source, target)]
    assert words[1] == [*words[0], "-incoming", "defer"]
    for end in (source, target):
        found = end.find(name)
        assert found is not None
        end.remove(found)
    assert ElementTree.tostring(source) == ElementTree.tostring(target)


@given(anything, anything)
def test_whatever_is_said_is_only_said(cmdline: str, base: str) -> None:
    """An operator's words stay in their own element, and no part of them becomes a device."""
    record = kept(options={"cmdline": cmdline})
    plain, found = described(kept()), described(record, files=Image(IMAGES / "kernel", None, base, None))
    told = found.findtext("os/cmdline")
    assert told == f"{base} weft.name=vm1 {cmdline}"
    assert {device.tag for device in found.iterfind("devices/*")} == {
        device.tag for device in plain.iterfind("devices/*")
    } - {"disk"}


@given(st.text("abc,&<\"'/ ", min_size=1, max_size=20))
def test_paths_are_as_they_are(part: str) -> None:
    folder = Path("/x") / part.strip("/ ")
    words = [word.get("value") or "" for word in described(kept(), folder).iter() if word.tag.endswith("}arg")]
    assert words[words.index("-pidfile") + 1] == str(folder / "pid")
    monitors = [word for word in words if word.startswith("socket,")]
    assert [word.replace(",,", "\0").split(",")[2].replace("\0", ",") for word in monitors] == [
        f"path={folder / name}" for name in ("monitor", "rescue")
    ]


@pytest.mark.parametrize(("folder", "fits"), [("/x" * 49, True), ("/x" * 50, False), ("/ä" * 33, False)])
def test_a_folder_too_long_for_a_socket_is_named(folder: str, fits: bool) -> None:
    if fits:
        described(kept(), Path(folder))
        return
    with pytest.raises(Refused, match=r"vm1: the address of a socket has 107 bytes at most.*shorter state_dir"):
        described(kept(), Path(folder))


def test_devices_have_places_of_their_own() -> None:
    places = [tuple(sorted(place.items())) for place in (one.attrib for one in described(kept()).iter("address"))]
    assert len(set(places)) == len(places) == 6


def test_confined_only_where_there_is_something_to_confine() -> None:
    labels = {label.get("model"): label.get("type") for label in described(kept()).iterfind("seclabel")}
    assert labels == {"dac": "static", "apparmor": "none"}


@pytest.mark.parametrize(
    ("cpu", "said"),
    [
        ("host", '<cpu mode="host-passthrough" check="none"></cpu>'),
        ("max,-la57", '<cpu mode="maximum" check="none"><feature policy="disable" name="la57"/></cpu>'),
        (
            "Skylake-Server,+avx,pcid=off",
            '<cpu mode="custom" match="exact" check="none"><model fallback="forbid">Skylake-Server</model>'
            '<feature policy="require" name="avx"/><feature policy="disable" name="pcid"/></cpu>',
        ),
        (
            "EPYC,-fxsr-opt,-pclmulqdq",
            '<cpu mode="custom" match="exact" check="none"><model fallback="forbid">EPYC</model>'
            '<feature policy="disable" name="fxsr_opt"/><feature policy="disable" name="pclmuldq"/></cpu>',
        ),
    ],
)
def test_processors(cpu: str, said: str) -> None:
    assert processor(cpu) == said


def test_models_that_libvirt_has_names_for() -> None:
    said = """<domainCapabilities><cpu><mode name='host-model'><model fallback='forbid'>EPYC-Rome</model></mode>
    <mode name='custom' supported='yes'><model usable='yes' vendor='Intel'>Haswell-noTSX</model>
    <model usable='no'>EPYC</model></mode></cpu></domainCapabilities>"""
    assert models(said) == {"Haswell-noTSX", "EPYC"}
    assert models("<domainCapabilities/>") == frozenset()


@pytest.mark.parametrize("cpu", ["max,", "host,migratable", "max,phys-bits=40", 'max,+x"/>'])
def test_processors_that_libvirt_has_no_words_for(cpu: str) -> None:
    with pytest.raises(Refused, match="libvirt cannot be told"):
        processor(cpu)


@pytest.mark.parametrize("up", [True, False])
def test_a_cable_is_all_that_changes(up: bool) -> None:
    domain = ElementTree.tostring(described(kept()), encoding="unicode")
    before = described(kept()).findall("devices/interface")[1]
    found = ElementTree.fromstring(plugged(domain, MACHINE.macs[1].upper(), up))
    for interface, state in ((found, "up" if up else "down"), (before, "down")):
        link = interface.find("link")
        assert link is not None
        assert link.get("state") == state
        interface.remove(link)
        interface.tail = None
    assert ElementTree.tostring(found) == ElementTree.tostring(before)


def test_a_cable_that_libvirt_did_not_tell_of() -> None:
    domain = '<domain><devices><interface><mac address="52:54:00:00:00:0a"/></interface></devices></domain>'
    assert '<link state="down" />' in plugged(domain, "52:54:00:00:00:0a", False)
    with pytest.raises(HypervisorError, match="no interface"):
        plugged(domain, "52:54:00:00:00:0b", True)


def test_a_name_has_one_domain(tmp_path: Path) -> None:
    there = Connection("qemu:///system")
    uuids = [Domain(tmp_path / where / name, there).uuid for where in ("1", "2") for name in ("vm1", "vm2")]
    assert uuids[:2] == uuids[2:]
    assert len(set(uuids)) == 2


class Guests(Connection):
    """A connection to guests in which nobody listens for the first `deaf` requests."""

    def __init__(self, deaf: int, answers: list[dict[str, Any]]) -> None:
        super().__init__("test")
        self.deaf, self.answers, self.asked = deaf, answers, [""]

    async def ask(self, uuid: str, request: str, seconds: int) -> str:
        if self.deaf:
            self.deaf -= 1
            raise NobodyThere("the agent is not connected")
        self.asked.append(json.loads(request)["execute"])
        return json.dumps({"return": self.answers.pop(0)})


async def test_a_guest_that_boots_is_waited_for_and_asked_once() -> None:
    guests = Guests(2, [{"pid": 7}, {"exited": False}, {"exited": True, "exitcode": 0, "out-data": "aGVsbG8="}])
    assert await DomainAgent("vm1", UUID, guests).run("echo", "hello", seconds=5) == "hello"
    assert guests.asked[1:] == ["guest-exec", "guest-exec-status", "guest-exec-status"]


async def test_a_guest_in_which_nobody_ever_listens() -> None:
    with pytest.raises(HypervisorError, match="did not finish"):
        await DomainAgent("vm1", UUID, Guests(1000, [])).run("true", seconds=0.3)


async def test_a_guest_that_closes_its_end_while_it_is_asked_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """libvirt reports no error then, and its binding names only the function that failed."""

    class Opened:
        def lookupByUUIDString(self, uuid: str) -> str:  # noqa: N802 - libvirt's
            return uuid

        def close(self) -> None:
            pass

    def fails(*_: object) -> str:
        raise libvirt.libvirtError("virDomainQemuAgentCommand() failed")

    opened: Callable[[str], Opened] = lambda uri: Opened()  # noqa: E731
    monkeypatch.setattr(libvirt, "open", opened)
    monkeypatch.setattr(libvirt_qemu, "qemuAgentCommand", fails)
    with pytest.raises(HypervisorError, match="the guest's agent went away while it was asked"):
        await Connection("test").ask(UUID, "{}", 1)


async def test_a_libvirtd_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LibvirtAway, match="does not answer"):
        await Connection(f"qemu:///system?socket={tmp_path}/none").version()


def test_a_binding_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "libvirt", None)
    monkeypatch.delitem(sys.modules, "agents.hypervisors.libvirt.connection")
    with pytest.raises(Refused, match="libvirt-python cannot be used"):
        import_module("agents.hypervisors.libvirt.connection")


async def test_what_was_begun_is_ended_before_it_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a domain could appear after the driver has found none."""
    begun, go, done = threading.Event(), threading.Event(), threading.Event()

    class Slow:
        def createXML(self, xml: str, flags: int) -> None:  # noqa: N802 - libvirt's
            begun.set()
            go.wait(5)
            done.set()

        def close(self) -> None:
            pass

    opened: Callable[[str], Slow] = lambda uri: Slow()  # noqa: E731
    monkeypatch.setattr(libvirt, "open", opened)
    task = asyncio.create_task(Connection("test").create("<domain/>"))
    await asyncio.to_thread(begun.wait, 5)
    task.cancel()
    await asyncio.sleep(0.05)
    assert not task.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done.is_set()
