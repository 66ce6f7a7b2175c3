"""The reconciler without a charon."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from agents.ipsec import strongswan
from agents.ipsec.association import Association
from agents.ipsec.connections import Connection, ends
from agents.ipsec.strongswan import Strongswan
from agents.ipsec.tunnel import TunnelIntent, TunnelPeer


async def test_it_ends_when_it_is_told_to_even_as_charon_fails(tmp_path: Path) -> None:
    for attempt in range(60):
        task = asyncio.create_task(Strongswan(tmp_path / "none", tmp_path, lambda: None).run())
        for _ in range(attempt % 20):
            await asyncio.sleep(0)
        await asyncio.sleep(attempt % 3 * 0.0005)
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=2)
        assert done and task.cancelled()


class FakeCharon:
    """A charon that has the connections it was told, and SAs between their addresses."""

    def __init__(self) -> None:
        self.loaded: dict[str, Connection] = {}
        self.sas: dict[str, Association] = {}
        self.asked: list[str] = []

    async def identify(self, credentials: object) -> None: ...

    async def load(self, lacking: Mapping[str, Connection]) -> None:
        self.loaded |= lacking  # SAs of a connection that changes stay
        self.asked += [f"load {name}" for name in lacking]

    async def unload(self, name: str) -> None:
        self.loaded.pop(name, None)
        self.sas.pop(name, None)
        self.asked.append(f"unload {name}")

    async def end(self, name: str) -> None:
        self.sas.pop(name, None)
        self.asked.append(f"end {name}")

    async def initiate(self, name: str) -> None:
        self.sas[name] = Association(up=True, admitted=True, ends=frozenset({ends(self.loaded[name])}))
        self.asked.append(f"initiate {name}")

    async def prove(self, name: str) -> None: ...

    async def replace(self, name: str) -> None: ...

    async def connections(self) -> frozenset[str]:
        return frozenset(self.loaded)

    async def associations(self) -> dict[str, Association]:
        return dict(self.sas)


async def test_a_tunnel_whose_end_has_another_address_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """charon keeps the SAs of a connection that changes: between the former addresses, where they protect nothing."""
    monkeypatch.setattr(strongswan, "read", lambda _: SimpleNamespace(revoked=frozenset()))
    tunnels, charon = Strongswan(tmp_path / "none", tmp_path, lambda: None), FakeCharon()
    tunnels._charon = charon  # type: ignore[assignment]

    async def converge(own: str, peer: str) -> list[str]:
        charon.asked.clear()
        intent = TunnelIntent("c1", own, (TunnelPeer("c2", peer), TunnelPeer("c3", "192.0.2.3")))
        tunnels.intend(intent)
        await tunnels._converge(intent)
        return [each for each in charon.asked if "weft+" not in each]

    assert "initiate weft-c2" in await converge("192.0.2.1", "192.0.2.2")
    assert await converge("192.0.2.1", "192.0.2.2") == []
    moved = await converge("192.0.2.1", "192.0.2.22")
    assert moved == ["end weft-c2", "unload weft-c2", "load weft-c2", "initiate weft-c2"]
    assert charon.sas["weft-c2"].ends == {("192.0.2.1", "192.0.2.22")}
    assert await converge("192.0.2.1", "192.0.2.22") == [], "and only once"
    own = await converge("192.0.2.2", "192.0.2.22")
    assert {"end weft-c2", "end weft-c3", "initiate weft-c2", "initiate weft-c3"} <= set(own)
