"""IPsec between two sites, with real charons: traffic is encrypted, and traffic that cannot be encrypted is not sent.

The underlay would carry VXLAN in the clear at any time. Each test of a rule that prevents this runs once more without
the rule, to see the traffic leave.
"""

import asyncio
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agents.ipsec import mtu, strongswan
from agents.ipsec.connections import CHILD, PROOF, Connection, connections, proofs
from agents.ipsec.daemon import DEAD
from agents.ipsec.drops import drops
from agents.ipsec.guard import OPEN, guard
from agents.ipsec.reauthentication import LIMIT
from agents.ipsec.tunnel import TunnelIntent, TunnelState
from tests.integration import ipsec_site
from tests.integration.ipsec_site import GUARD, PLAIN, VTEPS, Authority, Site, Sites, eventually, sites

reason = ipsec_site.usable()
pytestmark = [pytest.mark.lab, pytest.mark.skipif(reason is not None, reason=reason or "")]


def join(two: Sites) -> None:
    two.one.want("c2")
    two.two.want("c1")


async def joined(two: Sites) -> None:
    join(two)
    await two.both_up()


@pytest.fixture(params=[True, False], ids=["trap", "no-trap"])
def trap(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether connections are traps, as they always are outside of these tests."""

    def without(intent: TunnelIntent) -> dict[str, Connection]:
        return {name: _without_trap(connection) for name, connection in connections(intent).items()}

    if not request.param:
        monkeypatch.setattr(strongswan, "connections", without)
    return bool(request.param)


def _without_trap(connection: Connection) -> Mapping[str, Any]:
    return {**connection, "children": {CHILD: {**connection["children"][CHILD], "start_action": "none"}}}


def proved(site: Site, peer: str) -> int:
    """Return how often the peer has authenticated beside the tunnel."""
    return site.log().count(f"authentication of 'CN={peer}' with")


# --- Membership


@pytest.mark.smoke
async def test_a_tunnel_comes_with_membership_and_goes_with_it(tmp_path: Path) -> None:
    async with sites(tmp_path) as two:
        with two.wire("udp or esp") as seen:
            await joined(two)
            assert two.one.reaches() == 3
            state = two.one.tunnels.states["192.0.2.2"]
            assert state.esp == "AES_GCM_16_256" and state.traffic.packets_out == 0 and two.one.tunnels.problem is None
        assert seen and all("UDP-encap" in line or "isakmp" in line or "NONESP" in line for line in seen), seen
        two.one.want()
        two.two.want()
        for site in (two.one, two.two):
            await eventually("nothing left", site.idle)
        with two.wire(PLAIN) as plain:
            assert two.one.reaches(1) == 0
        assert plain == []
        assert "ipsec0" not in two.one.space.run("ip route show table 220")


async def test_one_end_alone_has_no_tunnel(tmp_path: Path) -> None:
    async with sites(tmp_path) as two:
        two.two.want("c1")
        await asyncio.sleep(4)
        assert not two.one.up and not two.two.up and two.one.idle()
        two.one.want("c2")
        await two.both_up()


@pytest.mark.parametrize("fault", ["another name", "another authority"])
async def test_who_cannot_prove_the_name_gets_no_tunnel(tmp_path: Path, fault: str) -> None:
    async with sites(tmp_path) as two:
        if fault == "another name":
            two.authority.issue("c3", two.two.identity)
        else:
            Authority("foreign").issue("c2", two.two.identity)
            (two.two.identity / "chain.pem").write_text(two.authority.chain)
        join(two)
        await asyncio.sleep(4)
        assert not two.one.up and not two.two.up and two.one.reaches(1) == 0
        two.authority.issue("c2", two.two.identity)
        await two.both_up()


async def test_who_cannot_prove_it_any_more_loses_the_tunnel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("EVERY", 4.0), ("PATIENCE", 4.0), ("AGAIN", 1.0)):
        monkeypatch.setattr(f"agents.ipsec.reauthentication.{name}", seconds)
    async with sites(tmp_path) as two:
        await joined(two)
        keys = two.one.keys()
        with two.chatter(0.005) as counted:
            await eventually("proved twice", lambda: proved(two.one, "c2") > 1 and proved(two.two, "c1") > 1, 25)
        assert all(lost == 0 for _, lost in counted.values()), counted
        assert two.one.keys() == keys and two.one.up and two.two.up
        Authority("foreign").issue("c2", two.two.identity)
        await eventually("taken in", two.two.renewed, 15)
        await eventually("down", two.one.down, 25)
        await asyncio.sleep(4)
        assert two.one.down() and two.one.reaches(1) == 0
        two.authority.issue("c2", two.two.identity)
        await two.both_up()


@pytest.mark.parametrize("meanwhile", ["", "--rekey --ike weft-c1"], ids=["still", "new-keys"])
async def test_a_revoked_cloudlet_loses_its_tunnel(tmp_path: Path, meanwhile: str) -> None:
    """A revoked cloudlet loses its tunnel within the time limit for a new authentication, and gets no other until it
    has a new certificate. Rekeys do not count as authentication."""
    async with sites(tmp_path) as two:
        await joined(two)

        def down() -> bool:
            made = two.two.ask(meanwhile) if meanwhile and two.one.up else ""
            rekeyed.append("rekey completed" in made)
            return two.one.down()

        rekeyed: list[bool] = []
        two.authority.revoke("c2", two.one.identity)
        two.one.tunnels.look()
        await eventually("down", down, LIMIT + 3)
        assert any(rekeyed) is bool(meanwhile)
        await asyncio.sleep(4)
        assert two.one.down() and two.one.reaches(1) == 0
        two.authority.issue("c2", two.two.identity)
        two.two.tunnels.look()
        await two.both_up()


async def test_a_revoked_cloudlet_that_keeps_silent_loses_it_as_well(tmp_path: Path) -> None:
    """The tunnel goes within the same limit, before dead peer detection would end it."""
    async with sites(tmp_path) as two:
        await joined(two)
        two.two.pause()
        two.authority.revoke("c2", two.one.identity)
        two.one.tunnels.look()
        assert await eventually("down", two.one.down, DEAD) < LIMIT + 2
        two.two.resume()


async def test_others_prove_their_names_and_go_on(tmp_path: Path) -> None:
    """Both sites hear that a third cloudlet's certificate is revoked, and authenticate again. No packet is lost."""
    async with sites(tmp_path) as two:
        two.authority.issue("c9", tmp_path / "c9")
        await joined(two)
        keys = two.one.keys()
        with two.chatter(0.002) as counted:
            two.authority.revoke("c9", two.one.identity, two.two.identity)
            for site in (two.one, two.two):
                site.tunnels.look()
            await asyncio.sleep(LIMIT + 3)
        assert two.one.up and two.two.up
        assert all(answered > 1500 and lost == 0 for answered, lost in counted.values()), counted
        assert two.one.keys() == keys and two.one.log().count("authentication of 'c2'") == 1
        assert proved(two.one, "c2") == proved(two.two, "c1") == 1
        assert PROOF not in two.one.ask("--list-sas"), "it is gone when it has been seen"


async def test_a_peer_of_an_earlier_release_proves_its_name_in_its_own_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It refuses to authenticate beside the tunnel, so a new tunnel replaces the first."""

    def earlier(intent: TunnelIntent) -> dict[str, Connection]:
        return proofs(intent) if intent.cloudlet == "c1" else {}

    monkeypatch.setattr(strongswan, "proofs", earlier)
    async with sites(tmp_path) as two:
        two.authority.issue("c9", tmp_path / "c9")
        await joined(two)
        two.authority.revoke("c9", two.one.identity)
        two.one.tunnels.look()
        await asyncio.sleep(LIMIT + 3)
        assert two.one.up and two.two.up and two.one.reaches() == 3
        assert proved(two.one, "c2") == 0 and two.one.log().count("authentication of 'c2'") == 2
        two.authority.revoke("c2", two.one.identity)
        two.one.tunnels.look()
        await eventually("down", two.one.down, LIMIT + 3)


# --- Nothing leaves in the clear


@pytest.mark.parametrize("guard", [GUARD, OPEN], ids=["guard", "no-guard"])
async def test_set_up_traffic_and_leaving(tmp_path: Path, guard: str) -> None:
    async with sites(tmp_path, guard) as two:
        with two.wire(PLAIN) as plain, two.chatter() as counted:
            await asyncio.sleep(0.5)
            await joined(two)
            await asyncio.sleep(1)
            two.one.want()
            two.two.want()
            for site in (two.one, two.two):
                await eventually("nothing left", site.idle)
            await asyncio.sleep(0.5)
        assert all(answered > 10 for answered, _ in counted.values())
        assert (plain == []) is (guard == GUARD), plain[:3]


async def test_a_trap_holds_before_there_is_a_tunnel(tmp_path: Path, trap: bool) -> None:
    """The guard is off, and nobody answers at the other end."""
    async with sites(tmp_path, OPEN) as two:
        two.two.kill()
        two.one.want("c2")
        await eventually("loaded", two.one.loaded)
        await asyncio.sleep(0.2)
        with two.wire(f"{PLAIN} and src host {two.one.vtep}") as plain, two.chatter():
            await asyncio.sleep(1)
        assert (plain == []) is trap, plain[:3]


@pytest.mark.parametrize("guard", [GUARD, OPEN], ids=["guard", "no-guard"])
async def test_a_killed_charon(tmp_path: Path, guard: str) -> None:
    """charon has its connections again within seconds of its return, and the guard holds meanwhile."""
    async with sites(tmp_path, guard) as two:
        await joined(two)
        for site in (two.one, two.two):
            with two.wire(PLAIN) as plain, two.chatter():
                site.kill()
                await eventually("down", site.down)
                await asyncio.sleep(0.5)
                site.start()
                assert await eventually("loaded", site.loaded) < 3
                await two.both_up(8)
                await eventually("pings", site.answered, 8)
            assert (plain == []) is (guard == GUARD), plain[:3]


async def test_a_dead_peer_is_known_in_twelve_seconds(tmp_path: Path, trap: bool) -> None:
    """The guard is off: the trap drops traffic after the tunnel has gone. The peer's charon is silent."""
    async with sites(tmp_path, OPEN) as two:
        await joined(two)
        with two.wire(f"{PLAIN} and src host {two.one.vtep}") as plain, two.chatter():
            two.two.pause()
            assert await eventually("down", lambda: not two.one.up, 20) <= 12
            await asyncio.sleep(1)
        assert (plain == []) is trap, plain[:3]
        two.two.resume()
        await two.both_up(20)


@pytest.mark.parametrize("guard", [GUARD, OPEN], ids=["guard", "no-guard"])
async def test_vxlan_from_outside_does_not_get_in(tmp_path: Path, guard: str) -> None:
    async with sites(tmp_path) as two:
        await two.one.guard(guard)
        await two.two.guard(OPEN)
        before = two.one.heard()
        with two.wire(PLAIN) as plain, two.chatter():
            await asyncio.sleep(0.5)
        assert plain, "nothing was sent"
        assert (two.one.heard() == before) is (guard == GUARD)


@pytest.mark.parametrize("protected", [True, False], ids=["protected", "open"])
async def test_bgp_goes_through_the_tunnel_alone(tmp_path: Path, protected: bool) -> None:
    """Neither end sends BGP in the clear or accepts it in the clear."""
    async with sites(tmp_path) as two:

        async def shut(site: Site) -> None:
            await site.guard(guard([VTEPS[site.other]] if protected else []))

        def connects() -> bool:
            with two.one.space.entered(), socket.socket() as link:
                link.settimeout(1)
                link.bind((two.one.vtep, 0))
                return link.connect_ex((two.two.vtep, 179)) == 0

        async def opens() -> bool:
            return await asyncio.to_thread(connects)

        for site in (two.one, two.two):
            await shut(site)
        serve = "import socket, time; s = socket.create_server(('0.0.0.0', 179)); time.sleep(60)"
        two.two.space.spawn(sys.executable, "-c", serve, log=tmp_path / "server")
        await eventually("listens", lambda: ":179" in two.two.space.run("ss -ltn"))
        with two.wire("tcp port 179") as plain:
            assert await opens() is not protected
            await joined(two)
            assert await opens()
            two.two.kill()
            await asyncio.sleep(0.2)
            assert not await opens(), "the tunnel's way is not the wire"
        assert (plain == []) is protected, plain[:3]
        for site in (two.one, two.two):
            site.want()
        await eventually("idle", two.one.idle)
        await two.one.guard()
        with two.wire("tcp port 179 ") as plain:
            assert await opens() is not protected
        assert (plain == []) is protected, "one that was protected until now is not spoken to in the clear"
        await two.one.guard(OPEN)
        with two.wire("tcp port 179 ") as plain:
            assert await opens() is not protected
        assert plain, "it was sent"


# --- Nothing is lost


async def test_new_keys_under_traffic(tmp_path: Path) -> None:
    """None of more than 1,500 pings is lost, and none is in the clear."""
    async with sites(tmp_path) as two:
        await joined(two)
        before = two.one.keys()
        with two.wire(PLAIN) as plain, two.chatter(0.002) as counted:
            for site, what in (
                (two.one, "--child vtep"),
                (two.one, "--ike weft-c2"),
                (two.two, "--ike weft-c1"),
                (two.one, "--ike weft-c2 --reauth"),
                (two.two, "--ike weft-c1 --reauth"),
                (two.two, "--child vtep"),
            ):
                await asyncio.sleep(1)
                assert "rekey completed" in site.ask(f"--rekey {what}")
            await asyncio.sleep(1)
            await eventually("old keys are gone", lambda: not before & two.one.keys())
        assert before
        assert plain == [] and all(lost == 0 for _, lost in counted.values()), counted
        assert sum(answered for answered, _ in counted.values()) > 1500
        assert "KE" in two.one.log().rpartition("CREATE_CHILD_SA")[2], "new keys come of a new exchange"


async def test_renewed_certificates_and_a_new_agent_disturb_nothing(tmp_path: Path) -> None:
    async with sites(tmp_path) as two:
        await joined(two)
        before = two.one.keys()
        with two.chatter() as counted:
            for site in (two.one, two.two):
                two.authority.issue(site.name, site.identity)
            for site in (two.one, two.two):
                await eventually("taken in", site.renewed, 15)
            await two.again(two.one)
        assert all(lost == 0 for _, lost in counted.values()), counted
        assert two.one.keys() == before
        assert two.one.log().count("private key") == 3


# --- What is told


async def test_what_is_told_of_a_tunnel_goes_on_over_new_keys(tmp_path: Path) -> None:
    async with sites(tmp_path) as two:
        await joined(two)

        def state() -> TunnelState:
            return two.one.tunnels.states["192.0.2.2"]

        def packets(at_least: int) -> Callable[[], bool]:
            return lambda: state().traffic.packets_out >= at_least

        assert state().ike.startswith("AES_GCM_16_256/PRF_HMAC_SHA2_") and state().ike.endswith("/CURVE_25519")
        assert two.one.reaches(20) == 20
        await eventually("counted", packets(20))
        first = state()
        assert first.traffic.packets_in >= 20 and first.traffic.bytes_out >= 20 * 84 and not first.why
        assert first.keyed is not None and first.rekey is not None and first.rekey - first.keyed > 3000
        await asyncio.sleep(1)
        assert "rekey completed" in two.one.ask("--rekey --child vtep")
        assert two.one.reaches(20) == 20
        await eventually("counted on", packets(first.traffic.packets_out + 20))
        assert state().esp == "AES_GCM_16_256/CURVE_25519" and (state().keyed or 0) > first.keyed
        assert state().since == first.since, "it was there all the time"


async def test_why_there_is_no_tunnel(tmp_path: Path) -> None:
    async with sites(tmp_path) as two:
        Authority("foreign").issue("c2", two.two.identity)
        join(two)

        def why() -> set[str]:
            return {state.why for site in (two.one, two.two) for state in site.tunnels.states.values()}

        await eventually("a reason", lambda: "the peer does not take this cloudlet's certificate" in why())
        foreign = "the peer's certificate is of an authority that is not trusted here"
        await eventually("the other one's", lambda: foreign in why())
        two.authority.issue("c2", two.two.identity)
        two.two.tunnels.look()
        await two.both_up()
        assert why() == {""}
        two.two.pause()
        await eventually("silence is told", lambda: "the peer does not answer" in why(), 25)
        two.two.resume()


async def test_what_the_guard_drops_is_counted_by_peer_and_goes_on(tmp_path: Path) -> None:
    async with sites(tmp_path) as two:
        for expected in (3, 6):
            assert two.one.reaches(3) == 0
            with two.one.space.entered():
                found = await drops()
            assert (found.packets_out, found.meant_for) == (expected, {two.two.vtep: expected})
            await two.one.guard(GUARD)
        await two.two.guard(OPEN)
        assert two.two.reaches(2) == 0
        with two.one.space.entered():
            found = await drops()
        assert (found.packets_in, found.came_from) == (2, {two.two.vtep: 2})


# --- Octets


async def test_the_longest_packet_of_a_lan_is_as_long_on_the_wire_as_was_worked_out(tmp_path: Path) -> None:
    async with sites(tmp_path) as two:
        await joined(two)
        longest = mtu.lan(1500)
        whole = mtu.on_wire(longest + mtu.IPV4 + mtu.UDP + mtu.VXLAN + mtu.ETHERNET)
        with two.wire(f"ip[2:2] = {whole}") as seen, two.wire(f"ip[2:2] > {whole} or ip[6:2] & 0x3fff != 0") as more:
            assert two.one.reaches(3, longest - 28) == 3
        assert len(seen) == 6 and more == []
