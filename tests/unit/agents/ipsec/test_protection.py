"""Whether protection is on or off, and the messages about a missing tunnel."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.ipsec import Protection, protection
from agents.ipsec.drops import Drops
from agents.ipsec.guard import OPEN, guard
from agents.nft import NftError
from agents.settings import IpsecSettings
from controller.wire.desired import Protected
from tests.unit.agents.desires import desired, endpoint, remote

LAN = endpoint(1, remotes=[remote(endpoint(2)), remote(endpoint(3))])
PEERS = ["192.0.2.2", "192.0.2.3"]


def changed() -> None:
    """A callback without effect."""


async def test_off_it_changes_nothing(tmp_path: Path) -> None:
    off = Protection(None, tmp_path, changed)
    state = desired(LAN)
    off.intend(state)
    assert (
        off.fit(state) is state and off.guard(state) == OPEN and off.problems(LAN) == [] and off.awaited == frozenset()
    )
    assert off.report() is None


async def test_on_lans_are_shorter_and_the_guard_is_up(tmp_path: Path) -> None:
    on = Protection(IpsecSettings(), tmp_path, changed)
    assert [e.mtu for e in on.fit(desired(LAN)).endpoints] == [1350] and on.guard(desired(LAN)) == guard([], PEERS)


async def test_protected_bgp_is_guarded_and_has_tunnels(tmp_path: Path) -> None:
    on, off = (Protection(settings, tmp_path, changed) for settings in (IpsecSettings(), None))
    state = desired(LAN).model_copy(update={"protected": [Protected(name="rs1", address="198.51.100.1")]})
    assert on.guard(state) == guard(["198.51.100.1"], PEERS) and off.guard(state) == OPEN
    on.intend(state)
    report = on.report()
    assert report is not None and [t.cloudlet for t in report.tunnels] == ["ce2", "ce3", "rs1"]


async def test_what_the_guard_drops_is_looked_at_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    on = Protection(IpsecSettings(), tmp_path, lambda: calls.append("changed"))
    on.intend(desired(LAN))
    found: Iterator[Drops | NftError] = iter(
        [NftError("no guard yet"), Drops(0, 3, {}, {"192.0.2.2": 3}), Drops(0, 3, {}, {"192.0.2.2": 3})]
    )

    async def look() -> Drops:
        one = next(found, asyncio.CancelledError())
        if isinstance(one, Drops):
            return one
        raise one

    monkeypatch.setattr(protection, "drops", look)
    monkeypatch.setattr(protection, "LOOK", 0.0)
    with pytest.raises(asyncio.CancelledError):
        await on._watch()
    told = on.report()
    assert told is not None and told.dropped_out == 3 and [t.dropped_out for t in told.tunnels] == [3, 0]
    assert calls == ["changed"], "once, as it was the same the second time"


async def test_a_missing_tunnel_is_told_where_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on = Protection(IpsecSettings(), tmp_path, changed)
    alone = endpoint(4, 2)
    on.intend(desired(LAN, alone))
    assert on.problems(LAN) == [] and on.awaited == {"192.0.2.2", "192.0.2.3"}, "it is being made"
    told = on.report()
    assert told is not None and [(t.cloudlet, t.local, t.remote, t.state) for t in told.tunnels] == [
        ("ce2", "192.0.2.1", "192.0.2.2", "down"),
        ("ce3", "192.0.2.1", "192.0.2.3", "down"),
    ]
    monkeypatch.setattr(protection, "PATIENCE", 0.0)
    assert on.problems(LAN) == ["no IPsec tunnel to ce2 (192.0.2.2)", "no IPsec tunnel to ce3 (192.0.2.3)"]
    assert on.problems(alone) == [] and on.awaited == frozenset()
    on.intend(desired(endpoint(1, remotes=LAN.remotes[:1]), alone))
    assert on.problems(LAN) == ["no IPsec tunnel to ce2 (192.0.2.2)"], "nobody misses what nobody wants"
