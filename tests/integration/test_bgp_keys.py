"""BGP sessions signed with keys from the controller: a real controller over TLS, real route servers, real gobgpds."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, closing, suppress
from pathlib import Path

import grpc.aio
import pytest
from api import gobgp_pb2 as gobgp
from api.gobgp_pb2_grpc import GoBgpServiceStub

from agents.bgp.gobgp import Gobgp, SpeakerIntent, messages
from agents.bgp.session_keys import SessionSigning
from agents.controller.client import Controller as Door
from agents.controller.client import ControllerAway
from agents.identity import Identity
from agents.identity.enrolment import credential
from agents.storage.state import StateDirectory
from controller.wire.desired import Desired, Speaker
from controller.wire.session_keys import SessionKeys
from lab.paths import BIN
from lab.patience import eventually
from tests.integration.plain_pe import PlainPe
from tests.integration.route_servers import World, free_port, running

pytestmark = pytest.mark.lab


@pytest.fixture
def region(tmp_path: Path) -> Iterator[World]:
    with running(World(tmp_path, signed=True)) as made:
        yield made


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as made:
        yield made


def gobgpd(stack: AsyncExitStack, log: Path) -> str:
    api = f"127.0.0.1:{free_port()}"
    with log.open("ab") as file:
        process = subprocess.Popen([str(BIN / "gobgpd"), "--api-hosts", api, "-l", "warn"], stdout=file, stderr=file)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return api


class Pe:
    """The BGP part of a cloudlet's agent: its own code, over TLS, and a gobgpd. `lost` counts the times at which no
    session was established any more."""

    def __init__(self, region: World, number: int, path: Path) -> None:
        self.region, self.name, self.address, self.path = region, f"c{number}", f"127.0.78.1{number}", path
        self.lost, self.keys = 0, SessionKeys(wanted=None, sessions={})
        self.standing: set[str] = set()

    async def begin(self, stack: AsyncExitStack, *, knows: bool = True) -> "Pe":
        token = self.region.post("/cloudlets", {"name": self.name, "pe": "vpls", "vtep": self.address})["token"]
        state = StateDirectory(self.path, self.name)
        (self.path / "token").write_text(token)
        self.door = await stack.enter_async_context(Door(f"https://{self.region.agents}"))
        identity = Identity(self.name, self.door, self.path / "identity")
        self.door.use(await credential(self.door, state, identity, self.name, self.path / "token", "1"))
        self.gobgp = Gobgp(gobgpd(stack, self.path / "gobgpd.log"), self._look)
        self.signing = SessionSigning(self.name, state, self.door, self._look)
        self._desired: Desired | None = None
        works = [self._follow(knows), self.gobgp.run(), self.signing.run()]
        tasks = [asyncio.create_task(work) for work in works]

        async def end() -> None:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        stack.push_async_callback(end)
        return self

    async def _follow(self, knows: bool) -> None:
        while True:
            with suppress(ControllerAway):
                async for document in self.door.desired(None, lambda: None):
                    if isinstance(document, Desired):
                        self._desired = document
                        self._look()
                    elif isinstance(document, SessionKeys) and knows:
                        self.keys = document
                        self.signing.take(document)
            await asyncio.sleep(0.1)

    def _look(self) -> None:
        if (d := self._desired) is not None:
            passwords = self.signing.passwords(d.speakers)
            self.gobgp.intend(SpeakerIntent(d.asn, d.router_id, d.vtep, tuple(d.speakers), frozenset(), passwords))
            had = self.standing
            self.standing = {s.name for s in d.speakers if self.gobgp.sessions.get(s.address) == "established"}
            self.lost += bool(had) and not self.standing
            self.signing.look(d.speakers, self.gobgp.sessions, self.gobgp.signed)

    def signed(self) -> bool:
        shown = self.region.get(f"/cloudlets/{self.name}")["sessions"]
        return bool(shown == {"rs1": "signed", "rs2": "signed"} and self.standing == {"rs1", "rs2"})


def sessions(region: World, peer: str) -> list[str]:
    """Return the states of a peer's sessions at the route servers."""
    status = [server.get("/v1/status")["sessions"] for server in region.servers]
    return [one["state"] for at in status for one in at if one["peer"] == peer]


async def stranger(stack: AsyncExitStack, path: Path, address: str, server: str, password: str = "") -> str:
    """Return the state, after a while, of the session of a foreign gobgpd that uses the PE's own address."""
    api = gobgpd(stack, path / "stranger.log")
    async with grpc.aio.insecure_channel(api) as channel:
        stub = GoBgpServiceStub(channel)
        numbers = gobgp.Global(asn=65000, router_id="10.66.66.66", listen_port=-1)
        await stub.StartBgp(gobgp.StartBgpRequest(**{"global": numbers}), wait_for_ready=True)
        peer = messages.peer(Speaker(name="rs", address=server, asn=65000), address, password)
        await stub.AddPeer(gobgp.AddPeerRequest(peer=peer))
        for _ in range(60):
            found = [messages.state(r.peer) async for r in stub.ListPeer(gobgp.ListPeerRequest())]
            if found == ["established"]:
                break
            await asyncio.sleep(0.1)
        return found[0]


def unsigned(region: World) -> list[str]:
    """Return the doctor's findings about sessions and their keys."""
    found = region.get("/doctor")["differences"]
    return [one["text"] for one in found if one["where"].startswith("BGP sessions")]


def secrets_in(region: World, path: Path, keys: SessionKeys) -> list[str]:
    """Return the places where a key is exposed: files that others may open, and command lines."""
    passwords = [one.password.encode() for one in keys.sessions.values()]
    places = [p for p in path.rglob("*") if p.is_file() and (p.stat().st_mode & 0o077 or p.suffix in (".log", ".db"))]
    places += [p for p in path.rglob("weft.db*") if p not in places]
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        places.append(process)
    found = []
    for place in places:
        with suppress(OSError):
            if any(password in place.read_bytes() for password in passwords):
                found.append(str(place))
    return found


async def test_sessions_are_signed_rekeyed_and_nobody_elses(
    region: World, tmp_path: Path, stack: AsyncExitStack
) -> None:
    pe = await Pe(region, 1, tmp_path / "c1").begin(stack)
    await eventually(pe.signed, "both sessions signed", 60)
    assert pe.lost == 0, "one session after the other"
    assert unsigned(region) == []
    assert secrets_in(region, tmp_path, pe.keys) == []
    first = pe.keys
    told = [region.weft(*words).stdout for words in (["cloudlet", "show", "c1", "-o", "json"], ["event", "list"])]
    told += [str(server.get(p)) for server in region.servers for p in ("/v1/status", "/v1/ruleset", "/v1/keys")]
    assert not any(one.password in text for text in told for one in first.sessions.values())

    region.weft("cloudlet", "rekey", "c1")
    await eventually(lambda: pe.keys.wanted != first.wanted and pe.signed(), "both sessions signed anew", 60)
    assert pe.lost == 0
    assert not {k.password for k in first.sessions.values()} & {k.password for k in pe.keys.sessions.values()}
    assert secrets_in(region, tmp_path, pe.keys) == []

    # Crashes: a route server requires the key before it hears from the controller; the controller forgets no key.
    region.kill()
    region.servers[0].kill()
    region.servers[0].start()
    await eventually(lambda: sessions(region, "c1") == ["established"] * 2, "the session with its key again", 60)
    region.controller.start()
    region.in_step()
    await eventually(pe.signed, "as before", 60)


@pytest.mark.smoke
async def test_the_pes_address_is_worth_nothing_without_its_key(
    region: World, tmp_path: Path, stack: AsyncExitStack
) -> None:
    pe = await Pe(region, 1, tmp_path / "c1").begin(stack)
    await eventually(pe.signed, "both sessions signed", 60)
    address, server, known = pe.address, region.servers[0].address, pe.keys.sessions["rs1"].password
    await stack.aclose()  # the PE is away, its address is free
    await eventually(lambda: "established" not in sessions(region, "c1"), "its sessions over", 60)
    before = region.servers[0].get("/v1/status")["tcp_md5"]
    assert await stranger(stack, tmp_path, address, server) != "established"
    after = region.servers[0].get("/v1/status")["tcp_md5"]
    assert after["unsigned"] > before["unsigned"], "it can be seen why"
    assert await stranger(stack, tmp_path, address, server, "f" * 64) != "established"
    assert region.servers[0].get("/v1/status")["tcp_md5"]["wrong"] > after["wrong"]
    with pytest.raises((AssertionError, OSError)), closing(PlainPe(address, (server, 179))):
        pass
    assert await stranger(stack, tmp_path, address, server, known) == "established"
    await stack.aclose()
    region.weft("cloudlet", "rekey", "c1", "--off")
    await eventually(lambda: not any(s.get("/v1/keys")["neighbours"] for s in region.servers), "no keys")
    assert await stranger(stack, tmp_path, address, server) == "established", "the key it was that kept it away"
    await stack.aclose()


async def test_an_agent_that_knows_no_keys_keeps_its_sessions(
    region: World, tmp_path: Path, stack: AsyncExitStack
) -> None:
    pe = await Pe(region, 1, tmp_path / "c1").begin(stack, knows=False)
    await eventually(lambda: sessions(region, "c1") == ["established"] * 2, "sessions", 60)
    await asyncio.sleep(5)
    assert sessions(region, "c1") == ["established"] * 2 and pe.lost == 0
    assert [server.get("/v1/keys")["neighbours"] for server in region.servers] == [0, 0]
    assert [text.partition(":")[0] for text in unsigned(region)] == [
        f"The session of c1 with {server} is not signed" for server in ("rs1", "rs2")
    ]


async def test_a_revoked_cloudlets_keys_are_gone_from_route_servers(
    region: World, tmp_path: Path, stack: AsyncExitStack
) -> None:
    pe = await Pe(region, 1, tmp_path / "c1").begin(stack)
    await eventually(pe.signed, "both sessions signed", 60)
    serial = region.json("certificate", "list", "--cloudlet", "c1")[0]["serial"]
    region.post(f"/certificates/{serial}/revoke", {})
    await eventually(lambda: not any(s.get("/v1/keys")["neighbours"] for s in region.servers), "no keys", 10)
    for server in region.servers:
        assert (tmp_path / server.name / "keys").read_text() == ""
