"""The agent's report on tunnels: totals, reasons, ages, packets that the guard has dropped."""

import json
from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from agents.ipsec.association import association
from agents.ipsec.drops import Drops, parse
from agents.ipsec.reasons import Reasons, tells
from agents.ipsec.report import told
from agents.ipsec.traffic import Meter, Traffic
from agents.ipsec.tunnel import TunnelPeer, TunnelState

CHILD = {
    "uniqueid": b"2",
    "state": b"INSTALLED",
    "encr-alg": b"AES_GCM_16",
    "encr-keysize": b"256",
    "bytes-in": b"100",
    "bytes-out": b"200",
    "packets-in": b"1",
    "packets-out": b"2",
    "rekey-time": b"3300",
    "install-time": b"60",
}
IKE = {
    "state": b"ESTABLISHED",
    "established": b"61",
    "encr-alg": b"AES_GCM_16",
    "encr-keysize": b"256",
    "prf-alg": b"PRF_HMAC_SHA2_384",
    "dh-group": b"CURVE_25519",
    "child-sas": {"vtep-2": CHILD},
}
traffic = st.builds(Traffic, *[st.integers(0, 1 << 40)] * 4)


def test_what_charon_says_of_a_tunnel() -> None:
    found = association([IKE])
    assert found.up and not found.coming
    assert (found.ike, found.esp) == ("AES_GCM_16_256/PRF_HMAC_SHA2_384/CURVE_25519", "AES_GCM_16_256")
    assert (found.age, found.keyed, found.rekey) == (61, 60, 3300)
    assert found.traffic == {"2": Traffic(100, 200, 1, 2)}
    newer = CHILD | {"uniqueid": b"11", "dh-group": b"ECP_384"}
    both = association([IKE | {"child-sas": {"vtep-2": CHILD | {"state": b"REKEYED"}, "vtep-11": newer}}])
    assert both.esp == "AES_GCM_16_256/ECP_384" and both.traffic.keys() == {"2", "11"}
    making = association([{"state": b"CONNECTING", "child-sas": {}}])
    assert (
        making.coming and not making.up and (making.ike, making.esp, making.keyed, making.rekey) == ("", "", None, None)
    )


def test_the_ends_are_those_of_sas_that_stay() -> None:
    between = IKE | {"local-host": b"192.0.2.1", "remote-host": b"192.0.2.2"}
    ending = between | {"state": b"DELETING", "remote-host": b"192.0.2.9"}
    assert association([between, ending]).ends == {("192.0.2.1", "192.0.2.2")}
    assert association([IKE]).ends == frozenset()


@given(st.lists(st.tuples(st.booleans(), traffic), min_size=1))
def test_the_total_is_what_went_through_however_often_keys_are_made_anew(steps: list[tuple[bool, Traffic]]) -> None:
    meter, number, counter, totals = Meter(), 0, Traffic(), []
    for anew, grown in steps:
        if anew:
            number, counter = number + 1, Traffic()
        counter += grown
        totals.append(meter.take({str(number): counter}))
    assert totals == list(accumulate(grown for _, grown in steps))


@given(st.lists(st.dictionaries(st.sampled_from("123"), traffic)))
def test_the_total_never_falls(counts: list[dict[str, Traffic]]) -> None:
    meter = Meter()
    totals = [meter.take(each) for each in counts]
    assert all(min(vars_of(b.since(a))) >= 0 and b.since(a) + a == b for a, b in pairwise(totals))


def vars_of(one: Traffic) -> tuple[int, ...]:
    return one.bytes_in, one.bytes_out, one.packets_in, one.packets_out


def test_the_reason_that_tells_most_is_that_of_the_last_attempt() -> None:
    found = Reasons()
    found.take("weft-c2", "1", "giving up after 3 retransmits")
    assert found.of("weft-c2") == "the peer does not answer"
    found.take("weft-c2", "2", "no trusted ECDSA public key found for 'c2'")
    found.take("weft-c2", "2", "certificate was revoked on Nov 22 09:00:00 UTC 2026, reason: key compromise")
    found.take("weft-c2", "2", "no trusted ECDSA public key found for 'c2'")
    assert found.of("weft-c2") == "the peer's certificate is revoked"
    found.take("weft-c2", "3", "received AUTHENTICATION_FAILED notify error")
    assert found.of("weft-c2") == "the peer does not take this cloudlet's certificate"
    assert not tells("sending packet: from 192.0.2.1[500] to 192.0.2.2[500] (240 bytes)") and found.of("weft-c3") == ""
    found.keep({"weft-c3"})
    assert found.of("weft-c2") == ""


def test_what_the_guard_has_dropped() -> None:
    said = json.loads("""[{"metainfo": {}}, {"table": {"name": "weft-ipsec"}},
        {"counter": {"name": "out", "packets": 7, "bytes": 700}}, {"counter": {"name": "in", "packets": 3}},
        {"set": {"name": "meant_for", "elem": [{"elem": {"val": "192.0.2.2", "counter": {"packets": 5, "bytes": 1}}}]}},
        {"set": {"name": "came_from"}}]""")
    said.append({"set": {"name": "protected", "elem": ["192.0.2.8"]}})  # a set without counters
    assert parse(said) == Drops(3, 7, {}, {"192.0.2.2": 5}) and parse([]) == Drops()


def test_a_report_of_what_is_up_and_what_is_not() -> None:
    up = TunnelState(
        TunnelPeer("c3", "192.0.2.3"), True, 40.0, keyed=90.0, rekey=3700.0, traffic=Traffic(1, 2, 3, 4), why="old"
    )
    down = TunnelState(TunnelPeer("c2", "192.0.2.2"), False, 95.25, coming=True, why="the peer does not answer")
    found = told("192.0.2.1", [up, down], Drops(1, 9, {}, {"192.0.2.2": 9}), None, 100.0)
    two, three = found.tunnels
    assert (two.cloudlet, two.state, two.age, two.dropped_out, two.why) == ("c2", "connecting", 4.8, 9, down.why)
    assert (three.state, three.age, three.keyed, three.rekey, three.why) == ("up", 60.0, 10.0, 3600.0, "")
    assert (three.bytes_in, three.bytes_out, three.packets_in, three.packets_out) == (1, 2, 3, 4)
    assert (found.dropped_in, found.dropped_out, found.problem) == (1, 9, "")
    later = told("192.0.2.1", [up, down], Drops(1, 9, {}, {"192.0.2.2": 9}), None, 130.0)
    assert later != found and later.steady == found.steady
    assert told("192.0.2.1", [up], Drops(), None, 100.0).steady != found.steady
