"""The requests to hypervisor and guest, their order, and those that are not repeated. Lab tests cover the wire."""

import json
from typing import cast

import pytest

from agents.hypervisors.hypervisor import Hypervisor, HypervisorError
from agents.multipath import Multipath, NotJoined, join, linger, switch
from controller.wire.machines import Machine, Nic
from controller.wire.moves import Act, Addresses, Figures, Order

MACHINE = Machine(
    name="vm1", driver="fake", image="small", memory=1 << 26, macs=("02:00:00:00:00:0a", "02:00:00:00:00:0b")
)
FIRST = "0 0 10.1.0.5:5000 10.2.0.4:40000 cubic tcp-ulp-mptcp flags:Mec token:0000(id:0)/70(id:0) seq:b01\n"
PLAIN = "ESTAB 0 0 10.1.0.5:5000 10.2.0.4:40002 cubic rto:204\n"
JOINED = "0 0 10.2.0.5:5000 10.2.0.4:40001 cubic tcp-ulp-mptcp flags:Jec token:0000(id:0)/70(id:1) seq:b\n"


class Fake:
    """A hypervisor that records its calls. `leases` are the addresses that the guest's vNICs get, `sockets` is the
    output of its `ss`."""

    def __init__(self, leases: dict[str, str] | None = None, sockets: str = FIRST + JOINED) -> None:
        self.has: dict[str, str | None] = {"a": "10.1.0.5", "b": None}
        self.leases, self.sockets = leases or {"b": "10.2.0.5"}, sockets
        self.asked: list[str] = []
        self.deaf = False

    async def link(self, name: str, nic: Nic, up: bool) -> None:
        self.asked.append(f"link {nic} {'in' if up else 'out'}")

    async def announce(self, name: str) -> None:
        self.asked.append("announce")

    async def guest(self, name: str, program: str, *arguments: str, seconds: float = 30.0) -> str:
        if self.deaf:
            raise HypervisorError("nobody answers")
        if program == "ss":
            return self.sockets
        command, nic = arguments[0], arguments[1] if len(arguments) > 1 else ""
        if command == "backup" and self.has["b"] != arguments[2]:
            raise HypervisorError(f"{name}: vNIC b has not got {arguments[2]}")
        self.asked.append(f"{command} {nic}")
        if command == "up" and self.has[nic] is None:
            self.has[nic] = self.leases[nic]
        if command == "retire":
            self.has[nic] = None
        return json.dumps({"address": self.has.get(nic)})


def order(act: Act, new: str | None = "10.2.0.5", seconds: float = 0) -> Order:
    addresses = Addresses(old="10.1.0.5", new=new, device="10.2.0.4", linger=seconds)
    return Order(move="m1", number=1, act=act, machine=MACHINE, endpoint="c2-lan", addresses=addresses)


def switched(fake: Fake, seconds: float = 0.1, home: str = "") -> switch.GuestSwitch:
    """Return a switch; `home` is an address of the LAN where the machine is."""
    multipath = Multipath(
        lambda endpoint: None,
        lambda e: fake.asked.append(f"greet {e}"),
        seconds,
        home=lambda endpoint, address: (endpoint, str(address)) == ("c2-lan", home),
    )
    return multipath.switch(cast(Hypervisor, fake))


async def test_the_way_there_and_again() -> None:
    fake = Fake()
    for _ in range(2):
        fake.asked.clear()
        await switched(fake).activate(order("activate"))
        assert fake.asked == ["link a in", "announce", "greet c2-lan", "link b in", "up b"]
    assert (await switched(fake).join(order("join"))).paths == 1
    fake.asked.clear()
    await switched(fake).leave(order("leave"))
    assert fake.asked == ["backup a", "retire a", "link a out"]
    fake.asked.clear()
    await switched(fake).leave(order("leave"))
    assert fake.asked == ["backup a", "link a out"], "whoever asks again finds it done"


async def test_the_old_address_stays_where_the_new_one_is_missing() -> None:
    fake = Fake()
    with pytest.raises(HypervisorError, match=r"vNIC b has not got 10\.2\.0\.5"):
        await switched(fake).leave(order("leave"))
    assert fake.asked == []


async def test_a_kept_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "_AGAIN", (0.0, 0.0))
    fake = Fake()
    for act in ("activate", "join", "leave"):
        await getattr(switched(fake), act)(order(act, new=None))
    assert fake.asked == ["link a in", "announce", "greet c2-lan", "hold a", "announce", "announce"]
    fake.asked.clear()
    await switched(fake, home="10.1.0.5").activate(order("activate", new=None))
    assert fake.asked[3:] == ["up a", "announce", "announce"], "in its own LAN it is leased as ever"
    fake.deaf = True
    fake.asked.clear()
    await switched(fake).activate(order("activate", new=None))
    assert fake.asked == ["link a in", "announce", "greet c2-lan", "announce", "announce"]


class Talk(Fake):
    """A hypervisor whose guest gives another answer at each look, and repeats the last one; None: no answer."""

    def __init__(self, *looks: str | None) -> None:
        super().__init__()
        self.looks = list(looks)
        self.has["b"] = "10.2.0.5"

    async def guest(self, name: str, program: str, *arguments: str, seconds: float = 30.0) -> str:
        if program != "ss":
            return await super().guest(name, program, *arguments, seconds=seconds)
        found = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if found is None:
            raise HypervisorError("nobody answers")
        self.asked.append("look")
        return found


async def test_the_old_address_goes_with_the_last_that_hangs_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linger, "_LOOKS", (0.001,))
    gone = ["backup a", *["look"] * 5, "retire a", "link a out"]
    fake = Talk(JOINED + PLAIN, JOINED, FIRST, FIRST + JOINED, JOINED)
    await switched(fake).leave(order("leave", seconds=60))
    assert fake.asked == gone, "one look without a connection is not enough"
    fake = Talk(JOINED, None, JOINED, None, JOINED, JOINED)
    await switched(fake).leave(order("leave", seconds=60))
    assert fake.asked == ["backup a", *["look"] * 4, "retire a", "link a out"], "silence is not nobody"


@pytest.mark.parametrize(("looks", "told"), [(PLAIN + JOINED, "1"), (None, "nobody knows how many")])
async def test_no_longer_than_its_time(
    looks: str | None, told: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(linger, "_LOOKS", (0.001,))
    fake = Talk(looks)
    await switched(fake).leave(order("leave", seconds=0.05))
    assert fake.asked[-2:] == ["retire a", "link a out"]
    assert f"{told} connections of vm1 end with 10.1.0.5" in caplog.text


async def test_who_cannot_join_is_not_waited_for() -> None:
    """Connections without Multipath TCP keep the old address until they end."""
    figures = await switched(Fake(sockets=PLAIN), seconds=10).join(order("join"))
    assert figures.paths is None


async def test_an_address_from_elsewhere_is_given_up_once() -> None:
    fake = Fake()
    fake.has["b"] = "10.9.0.5"
    await switched(fake).activate(order("activate"))
    assert fake.asked[3:] == ["link b in", "up b", "retire b", "link b out", "link b in", "up b"]
    assert fake.has["b"] == "10.2.0.5"
    wrong = Fake(leases={"b": "10.2.0.9"})
    with pytest.raises(HypervisorError, match=r"vNIC b has got 10\.2\.0\.9, and the plan says 10\.2\.0\.5"):
        await switched(wrong).activate(order("activate"))


async def test_why_nobody_joined() -> None:
    with pytest.raises(NotJoined, match=r"in 0.1 s: the LAN is not watched; 10\.1\.0\.5 has 1 connections of M"):
        await switched(Fake(sockets=FIRST)).join(order("join"))
    deaf = Fake()
    deaf.deaf = True
    with pytest.raises(NotJoined, match="nobody answers"):
        await switched(deaf).join(order("join"))


async def test_a_device_that_could_not_join_is_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Busy(Fake):
        async def guest(self, name: str, program: str, *arguments: str, seconds: float = 30.0) -> str:
            if arguments[0] == "announce":
                self.sockets = FIRST + JOINED
            return await super().guest(name, program, *arguments, seconds=seconds)

    monkeypatch.setattr(join, "_ANNOUNCE", (0.0, 0.0))
    monkeypatch.setattr(join, "_LOOK", 0.01)
    fake = Busy(sockets=FIRST)
    assert (await switched(fake, seconds=10).join(order("join"))).paths == 1
    assert fake.asked == ["link b in", "up b", "announce b"]


async def test_nobody_to_wait_for() -> None:
    figures = await switched(Fake(sockets=""), seconds=10).join(order("join"))
    assert isinstance(figures, Figures) and figures.paths is None


@pytest.mark.parametrize("answer", ["", "[]", "no", '{"address": "nowhere"}', "{}"])
async def test_answers_that_are_none(answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake()

    async def guest(name: str, program: str, *arguments: str, seconds: float = 30.0) -> str:
        return answer

    monkeypatch.setattr(fake, "guest", guest)
    with pytest.raises(HypervisorError, match="weft-guest up"):
        await switched(fake).activate(order("activate"))


async def test_the_address_of_a_machine_that_is_retired_lingers_while_connections_use_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those without Multipath TCP count as well."""
    monkeypatch.setattr(linger, "_LOOKS", (0.0,))
    talk = Talk(FIRST, PLAIN, "", FIRST, "", "")
    await switched(talk).linger(order("leave", seconds=60))
    assert talk.asked == ["look"] * 6 + ["link a out"]


async def test_it_lingers_no_longer_than_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linger, "_LOOKS", (0.0,))
    for looks in (PLAIN, None):
        talk = Talk(looks)
        await switched(talk).linger(order("leave", seconds=0))
        assert talk.asked[-1] == "link a out"


async def test_an_address_that_stays_does_not_linger() -> None:
    fake = Fake()
    await switched(fake).linger(order("leave", new=None))
    assert fake.asked == []
