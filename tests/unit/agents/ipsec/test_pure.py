"""The consequences of a desired state: peers, connections, octets, and the texts for nft and charon."""

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.ipsec import TunnelIntent, TunnelPeer, intent, mtu
from agents.ipsec.association import association
from agents.ipsec.connections import CHILD, ESP, IKE, PREFIX, connections, leads, name, proof, proofs, proves
from agents.ipsec.credentials import CredentialsError, read
from agents.ipsec.daemon import DEAD, configuration
from agents.ipsec.guard import LINGER, LINGER_BGP, guard
from agents.ipsec.tunnel import members
from controller.wire.desired import Protected
from tests.unit.agents.desires import desired, endpoint, remote

sites = st.integers(min_value=2, max_value=250)


# --- Who has a tunnel to whom


def test_one_tunnel_per_cloudlet_however_many_pools() -> None:
    far, same = remote(endpoint(2)), remote(endpoint(3))
    here = remote(endpoint(9, vtep="192.0.2.1"))  # a second LAN of this cloudlet, in the same pool
    found = intent(desired(endpoint(1, remotes=[far, same]), endpoint(4, 2, remotes=[same, here])))
    assert found == TunnelIntent("c1", "192.0.2.1", (TunnelPeer("ce2", "192.0.2.2"), TunnelPeer("ce3", "192.0.2.3")))


def test_no_pool_no_tunnel() -> None:
    assert intent(desired(endpoint(1))).peers == ()
    assert connections(intent(desired())) == {}


@given(st.sets(sites, min_size=2, max_size=6))
def test_both_ends_mean_the_same_tunnel_and_one_leads(members: set[int]) -> None:
    ends = {
        n: TunnelIntent(f"c{n}", f"192.0.2.{n}", tuple(TunnelPeer(f"c{m}", f"192.0.2.{m}") for m in members - {n}))
        for n in members
    }
    for one, other in combinations(sorted(members), 2):
        here = connections(ends[one])[f"{PREFIX}c{other}"]
        there = connections(ends[other])[f"{PREFIX}c{one}"]
        assert (here["local_addrs"], here["remote_addrs"]) == (there["remote_addrs"], there["local_addrs"])
        assert (here["local"]["id"], here["remote"]["id"]) == (there["remote"]["id"], there["local"]["id"])
        child, mirror = here["children"][CHILD], there["children"][CHILD]
        assert (child["local_ts"], child["remote_ts"]) == (mirror["remote_ts"], mirror["local_ts"])
        assert child["esp_proposals"] == mirror["esp_proposals"] and child["start_action"] == "trap"
        peers = TunnelPeer(f"c{other}", f"192.0.2.{other}"), TunnelPeer(f"c{one}", f"192.0.2.{one}")
        assert leads(ends[one], peers[0]) is not leads(ends[other], peers[1])
        assert {child["dpd_action"], mirror["dpd_action"]} == {"restart", "clear"}
    assert all(len(connections(end)) == len(members) - 1 for end in ends.values())


def test_a_peer_has_to_prove_its_own_name() -> None:
    (connection,) = connections(TunnelIntent("c1", "192.0.2.1", (TunnelPeer("c2", "192.0.2.2"),))).values()
    assert connection["remote"] == {"auth": "pubkey", "id": "fqdn:c2"}
    assert connection["children"][CHILD]["remote_ts"] == ["192.0.2.2/32"]
    assert name(TunnelPeer("c2", "192.0.2.2")) == "weft-c2"


def test_a_proof_beside_the_tunnel_is_of_the_same_name_and_carries_nothing() -> None:
    one, other = TunnelPeer("c1", "192.0.2.1"), TunnelPeer("c2", "192.0.2.2")
    (here,) = proofs(TunnelIntent("c1", "192.0.2.1", (other,))).values()
    ((there_name, there),) = proofs(TunnelIntent("c2", "192.0.2.2", (one,))).items()
    assert (here["local"]["id"], here["remote"]["id"]) == ("CN=c1", "CN=c2")
    assert (there["remote"]["id"], there["local"]["id"]) == ("CN=c1", "CN=c2")
    assert "children" not in here and here["unique"] == "never", "it takes no other's place"
    assert there_name == proof("weft-c1") and proves(there_name) == proves("weft-c1") == "weft-c1"


def test_new_keys_of_an_ike_sa_are_no_proof_and_no_way_out_of_doubt() -> None:
    def ike(state: str, **more: str) -> dict[str, Any]:
        return {"state": state, "child-sas": {}, **more}

    assert not association([ike("CONNECTING")]).admitted
    made = association([ike("ESTABLISHED", established="4000")])
    assert made.admitted and made.age == 4000
    while_keys_are_made = association([ike("REKEYING")])
    assert while_keys_are_made.admitted and while_keys_are_made.age is None


@pytest.mark.parametrize("proposal", [*IKE, *ESP])
def test_proposals_are_aead_with_elliptic_curves_and_nothing_else(proposal: str) -> None:
    words = proposal.split("-")
    allowed = {"aes256gcm16", "aes128gcm16", "chacha20poly1305", "prfsha256", "prfsha384", "x25519", "ecp384", "ecp256"}
    assert set(words) <= allowed and len(words) == len(set(words))
    assert set(words) & {"x25519", "ecp384", "ecp256"}, "no group: no forward secrecy when keys are changed"


# --- Octets


@pytest.mark.parametrize(
    ("packet", "on_wire"),
    [
        # IP 20 + UDP 8 (RFC 3948) + SPI and sequence 8 + IV 8 + the packet and 2, up to a multiple of 4 + ICV 16
        (20, 20 + 8 + 8 + 8 + 24 + 16),
        (62, 20 + 8 + 8 + 8 + 64 + 16),
        (63, 20 + 8 + 8 + 8 + 68 + 16),
        (1400, 1464),
        (1438, 1500),
        (1439, 1504),
    ],
)
def test_what_a_packet_becomes(packet: int, on_wire: int) -> None:
    assert mtu.on_wire(packet) == on_wire


@given(st.integers(min_value=576, max_value=65535))
def test_the_longest_that_fits_fits_and_no_longer_one(path: int) -> None:
    longest = mtu.protected(path)
    assert mtu.on_wire(longest) <= path < mtu.on_wire(longest + 1)


@pytest.mark.parametrize(("path", "lan"), [(1500, 1350), (1464, 1350), (1463, 1348), (1400, 1288), (9000, 1350)])
def test_what_is_left_for_a_lan(path: int, lan: int) -> None:
    assert mtu.lan(path) == lan


def test_only_lans_that_are_too_long_are_shortened() -> None:
    state = desired(endpoint(1), endpoint(2, 2, mtu=1280))
    assert [e.mtu for e in mtu.within(state, 1500).endpoints] == [1350, 1280]
    assert [e.mtu for e in state.endpoints] == [1450, 1280]
    assert mtu.within(state, 1500).model_copy(update={"endpoints": state.endpoints}) == state


# --- Texts


def test_a_dead_peer_is_known_in_twelve_seconds() -> None:
    assert 5 < DEAD <= 12
    text = configuration(Path("/run/v"), kernel=False)
    assert "retransmit_timeout = 1.0" in text and "retransmit_tries = 3" in text and "retransmit_base = 1.3" in text


def test_the_backend_is_the_kernels_or_charons_own() -> None:
    texts = {kernel: configuration(Path("/run/v"), kernel).partition("plugins {")[0] for kernel in (True, False)}
    assert "kernel-libipsec kernel-netlink" in texts[False], "the one that comes first is taken"
    assert "libipsec" not in texts[True] and "kernel-netlink" in texts[True]
    assert "unix:///run/v" in configuration(Path("/run/v"), kernel=True)


FLUSHED = {"chain": ("output", "input"), "set": ("protected", "peers")}


def test_tcp_in_the_clear_is_dropped_between_those_who_share_a_pool_both_ways() -> None:
    """The rules also cover former peers, for longer than a TCP connection survives without an answer: so the agent
    needs to flush nothing else."""
    rules = [line.strip() for line in guard(peers=["192.0.2.2"]).splitlines() if "l4proto tcp" in line]
    assert rules[0] == "meta l4proto tcp ip daddr @peers update @lately { ip daddr }", "also what goes encrypted"
    for way, (interface, missing) in {"daddr": ("oif", "rt"), "saddr": ("iif", "meta")}.items():
        for whose in ("peers", "lately"):
            clear = f'{interface}name != {{ "ipsec0", "lo" }} {missing} ipsec missing'
            assert f"meta l4proto tcp ip {way} @{whose} {clear} drop" in rules
    assert len(rules) == 5 and LINGER * 60 > 924.6, "tcp_retries2 = 15"


def test_bgp_in_the_clear_is_dropped_with_those_who_are_or_were_protected_both_ways() -> None:
    """A revocation ends sessions and protection at the same time, and either may be the first."""
    rules = [line.strip() for line in guard(["192.0.2.9"]).splitlines() if "port 179 " in line]
    noted = [f"ip daddr @protected tcp {end} 179 update @lately_bgp {{ ip daddr }}" for end in ("dport", "sport")]
    assert rules[:2] == noted, "also what goes encrypted"
    for way, (interface, missing) in {"daddr": ("oif", "rt"), "saddr": ("iif", "meta")}.items():
        for whose in ("protected", "lately_bgp"):
            for end in ("dport", "sport"):
                clear = f'{interface}name != {{ "ipsec0", "lo" }} {missing} ipsec missing'
                assert f"ip {way} @{whose} tcp {end} 179 {clear} drop" in rules
    assert len(rules) == 10 and LINGER_BGP * 60 > 100, "tcp_orphan_retries = 8"


def test_tunnels_to_route_servers_are_for_their_bgp() -> None:
    here = remote(endpoint(9, vtep="192.0.2.1"))
    state = desired(endpoint(1, remotes=[remote(endpoint(2)), here]))
    state = state.model_copy(update={"protected": [Protected(name="rs1", address="198.51.100.1")]})
    assert members(state) == {"192.0.2.2"}
    assert {peer.vtep for peer in intent(state).peers} == {"192.0.2.2", "198.51.100.1"}


def test_the_guard_is_one_table_that_replaces_itself() -> None:
    text = guard(["192.0.2.9", "192.0.2.8", "192.0.2.9"], ["192.0.2.3", "192.0.2.2"])
    assert text.count("{") == text.count("}") and "delete" not in text, "its counters go on"
    flushed = [f"{what} inet weft-ipsec {which}\n" for what, names in FLUSHED.items() for which in names]
    assert [text.count(f"flush {what}") for what in flushed] == [1, 1, 1, 1] and text.count("flush ") == 4
    assert text.count("udp dport 4789") == 4 and text.count("port 179 ") == 10 and text.count(" drop\n") == 14
    elements = "add element inet weft-ipsec protected { 192.0.2.8, 192.0.2.9 }\n"
    assert text.endswith(elements + "add element inet weft-ipsec peers { 192.0.2.2, 192.0.2.3 }\n")
    assert "add element" not in guard()


# --- Credentials


CERTIFICATE = "-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nbm8=\n-----END PRIVATE KEY-----\n"
CHAIN = CERTIFICATE.replace("bm8=", "YWE=") + CERTIFICATE.replace("bm8=", "YmI=")


def test_the_three_files(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=r"key\.pem: no such file"):
        read(tmp_path)
    for file, text in (("key.pem", KEY), ("certificate.pem", CERTIFICATE), ("chain.pem", CHAIN * 2)):
        (tmp_path / file).write_text(text)
    found = read(tmp_path)
    assert (found.key, len(found.authorities)) == (KEY.encode(), 2), "each once"
    assert KEY[30:40] not in repr(found), "a key is in no log"
    (tmp_path / "chain.pem").write_text("nothing")
    with pytest.raises(CredentialsError, match=r"chain\.pem: no certificate in it"):
        read(tmp_path)
    (tmp_path / "key.pem").write_text(KEY.replace("PRIVATE", "ENCRYPTED PRIVATE"))
    with pytest.raises(CredentialsError, match=r"key\.pem: no private key in it"):
        read(tmp_path)
