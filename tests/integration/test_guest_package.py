"""Weft's guest package: two vNICs, their addresses, and MPTCP connections that outlive both."""

import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from lab import netns, work
from lab.errors import LabError
from lab.guests.build import build
from lab.patience import until
from tests.integration import guest_lan
from tests.integration.guest_lan import DEVICE, LANS
from tests.integration.guest_places import VM, Booted, Place, Space, end

pytestmark = pytest.mark.lab


def clear() -> None:
    for space in (VM, DEVICE, LANS):
        end(space)
    guest_lan.down(VM)


@pytest.fixture
def lans(request: pytest.FixtureRequest) -> Iterator[list[Popen[bytes]]]:
    """Yield the processes of the LANs, and end them afterwards. Leases last 600 s, or the parameter."""
    build()
    with guest_lan.alone():
        clear()
        started = guest_lan.up(getattr(request, "param", 600))
        try:
            yield started
        finally:
            clear()
            for process in started:
                process.communicate()


@pytest.fixture
def space(lans: list[Popen[bytes]], tmp_path: Path) -> Space:
    return Space(tmp_path, lans)


@pytest.fixture
def place(request: pytest.FixtureRequest, lans: list[Popen[bytes]], tmp_path: Path) -> Iterator[Place]:
    if request.param == "namespace":
        yield Space(tmp_path, lans)
        return
    booted = Booted(tmp_path)
    try:
        yield booted
    finally:
        booted.guest.stop()


def nic(place: Place, name: str) -> dict[str, Any]:
    found: dict[str, Any] = place.run("state")["nics"][name]
    return found


@pytest.mark.parametrize("place", ["namespace", pytest.param("booted", marks=pytest.mark.smoke)], indirect=True)
def test_connection_outlives_both_addresses(place: Place, tmp_path: Path) -> None:
    leased = place.run("up", "a", "20")
    assert leased == {"nic": "a", "address": "10.91.1.3", "prefix": 24, "gateway": "10.91.1.1"}
    until(lambda: not guest_answers_nobody())
    stream = work.Stream(DEVICE, guest_lan.address(1), tmp_path / "series", down=1_000_000, up=200_000)
    echo = work.Echo(DEVICE, guest_lan.address(1), tmp_path / "echo")
    try:
        until(lambda: len(stream.series()) > 30)
        for old, new, lan in (("a", "b", 2), ("b", "a", 1)):
            place.cable(new, True)
            assert place.run("up", new, "20")["address"] == guest_lan.address(lan)
            until(lambda: place.run("state")["subflows"] == 4)  # two connections joined by their device
            assert nic(place, new)["endpoint"] == ["signal"]
            here, there = guest_lan.address(lan), guest_lan.address(3 - lan)
            with pytest.raises(LabError, match=f"vNIC {new} has not got {there}"):
                place.run("backup", old, there)
            assert nic(place, old)["endpoint"] == ["signal"]
            assert place.run("backup", old, here) == {"nic": old, "address": there, "serving": new}
            assert nic(place, old)["endpoint"] == ["signal", "backup"]
            assert place.run("serve") == {"serving": new}
            for again, held in (("backup", there), ("retire", None), ("backup", None), ("retire", None)):
                # A caller that lost the answer asks again.
                assert place.run(again, old) == {"nic": old, "address": held, "serving": new}
            state = place.run("state")
            assert state["nics"][old]["address"] is None
            assert state["nics"][old]["endpoint"] == []
            assert state["nics"][old]["parked"] is True
            assert (state["connections"], state["subflows"]) == (2, 2)
            place.cable(old, False)
            until(lambda old=old: nic(place, old)["parked"] is False)  # type: ignore[misc]
            assert nic(place, old)["link"] is False
        streamed, echoed = stream.verdict(), echo.verdict()
    finally:
        stream.kill()
        echo.kill()
    assert streamed.intact
    assert streamed.mptcp
    assert streamed.device.received > 100_000
    assert streamed.device.gap < 2
    assert (echoed.error, echoed.wrong) == (None, 0)


def test_an_address_that_mptcp_has_lost_can_be_given_up(space: Space) -> None:
    space.run("up", "a", "20")
    space.cable("b", True)
    space.run("up", "b", "20")
    netns.configure(VM, sysctl={}, ip=["mptcp endpoint flush"])
    assert nic(space, "a")["endpoint"] == nic(space, "b")["endpoint"] == []
    assert space.run("backup", "a", guest_lan.address(2))["serving"] == "b"
    assert nic(space, "a")["endpoint"] == ["signal", "backup"]
    assert space.run("retire", "a") == {"nic": "a", "address": None, "serving": "b"}
    assert nic(space, "a")["endpoint"] == []


def guest_answers_nobody() -> bool:
    try:
        return work.ask(DEVICE, guest_lan.address(1), ["ping"]) != {}
    except LabError:
        return True


def test_booted_guest(lans: list[Popen[bytes]], tmp_path: Path) -> None:
    booted = Booted(tmp_path)
    try:
        guest = booted.guest
        assert guest.agent("guest-ping") == {}
        assert "known: OK" in guest.run("sh", "-c", "cd /disk && sha256sum -c known.sha256")
        booted.run("up", "a", "20")
        for kind, words in (("memory", ["mib=16", "rate=4"]), ("disk", ["mib=8", "rate=1"])):
            work.ask(DEVICE, guest_lan.address(1), [kind, "start", *words])
        for kind in ("memory", "disk"):
            told = work.ask(DEVICE, guest_lan.address(1), [kind, "verdict"])
            assert told["written"] > 0
            assert told["wrong"] == 0
        with pytest.raises(LabError, match="usage"):
            guest.run("weft-guest", "up", "c")
    finally:
        booted.guest.stop()


def test_cable_pulled_without_a_word(space: Space, tmp_path: Path) -> None:
    """The hypervisor only unplugs a cable: the guest withdraws the address of that vNIC."""
    space.run("up", "a")
    stream = work.Stream(DEVICE, guest_lan.address(1), tmp_path / "series", down=1_000_000)
    try:
        until(lambda: len(stream.series()) > 30)
        space.cable("b", True)
        until(lambda: space.run("state")["subflows"] == 2)
        space.cable("a", False)
        until(lambda: nic(space, "a")["address"] is None)
        assert space.run("serve") == {"serving": "b"}
        until(lambda: space.run("state")["subflows"] == 1)
        verdict = stream.verdict()
    finally:
        stream.kill()
    assert verdict.intact


def test_a_device_that_could_not_join_is_told_again(space: Space, tmp_path: Path) -> None:
    """The device has heard of the address, and does not try again by itself."""
    space.run("up", "a")
    stream = work.Stream(DEVICE, guest_lan.address(1), tmp_path / "series", down=1_000_000)
    away = ["ip", "route", "add", "unreachable", guest_lan.address(2)]
    try:
        until(lambda: len(stream.series()) > 30)
        netns.execute(DEVICE, away, check=True)
        space.cable("b", True)
        space.run("up", "b")
        until(lambda: space.run("state")["counters"].get("EchoAdd") == 1)
        netns.execute(DEVICE, [*away[:2], "delete", *away[3:]], check=True)
        time.sleep(1)
        assert space.run("state")["subflows"] == 1
        assert space.run("announce", "b") == {"nic": "b", "address": guest_lan.address(2), "serving": "a"}
        until(lambda: space.run("state")["subflows"] == 2)
        verdict = stream.verdict()
    finally:
        stream.kill()
    assert verdict.intact


def test_the_only_address_survives_its_cable(space: Space) -> None:
    space.run("up", "a")
    space.cable("a", False)
    until(lambda: nic(space, "a")["link"] is False)
    assert nic(space, "a")["address"] == guest_lan.address(1)
    space.cable("a", True)
    until(lambda: nic(space, "a")["link"] is True)
    assert nic(space, "a")["address"] == guest_lan.address(1)


@pytest.mark.parametrize("lans", [6], indirect=True)
def test_address_stays_as_long_as_its_lease(lans: list[Popen[bytes]], tmp_path: Path) -> None:
    """The address also stays when the server is away, but not longer than its lease."""
    space = Space(tmp_path, lans)
    space.run("up", "a")
    end(LANS)
    assert nic(space, "a")["address"] == guest_lan.address(1)
    until(lambda: nic(space, "a")["address"] is None, seconds=12)
    assert nic(space, "a")["endpoint"] == []


@pytest.mark.parametrize("lans", [16], indirect=True)  # udhcpc keeps a shorter lease for 16 s
def test_a_held_address_outlives_its_lease(lans: list[Popen[bytes]], tmp_path: Path) -> None:
    """The machine is in another LAN, whose server would refuse the address. Back in its own LAN it is leased as
    before."""
    space = Space(tmp_path, lans)
    space.run("up", "a")
    held = {"nic": "a", "address": guest_lan.address(1), "serving": "a"}
    assert space.run("hold", "a") == space.run("hold", "a") == held
    assert nic(space, "a")["held"] is True
    time.sleep(18)
    assert nic(space, "a")["address"] == guest_lan.address(1)
    assert space.run("up", "a")["address"] == guest_lan.address(1)
    assert nic(space, "a")["held"] is False
    time.sleep(18)  # it is renewed again …
    assert nic(space, "a")["address"] == guest_lan.address(1)
    end(LANS)
    until(lambda: nic(space, "a")["address"] is None, seconds=20)  # … and does not stay forever


def test_what_the_other_vnic_has_is_held(space: Space) -> None:
    """A move brings the waiting vNIC up; the serving address must stay until then, even if no device joins."""
    space.run("up", "a")
    assert nic(space, "b")["held"] is False
    assert "valid_lft forever" not in addresses("eth0")
    space.cable("b", True)
    space.run("up", "b")
    for name, held, lan in (("a", True, 1), ("b", False, 2)):
        assert (nic(space, name)["held"], nic(space, name)["address"]) == (held, guest_lan.address(lan))
    assert "valid_lft forever" in addresses("eth0") and "valid_lft forever" not in addresses("eth1")
    space.run("backup", "a", guest_lan.address(2))
    space.run("retire", "a")
    assert (nic(space, "a")["held"], nic(space, "a")["address"]) == (False, None)
    with pytest.raises(LabError, match="vNIC a, eth0, has no address"):
        space.run("hold", "a")


def addresses(device: str) -> str:
    return netns.execute(VM, ["ip", "-4", "addr", "show", device], check=True).stdout


def test_what_cannot_be_is_said(lans: list[Popen[bytes]], tmp_path: Path) -> None:
    space = Space(tmp_path, lans, client="00" + b"stranger".hex())
    with pytest.raises(LabError, match="vNIC a, eth0, got no address within 1 s"):
        space.run("up", "a", "1")
    for command in ("serve", "announce"):
        with pytest.raises(LabError, match="vNIC b, eth1, has no address"):
            space.run(command, "b")
    with pytest.raises(LabError, match="usage"):
        space.run("up", "c")
