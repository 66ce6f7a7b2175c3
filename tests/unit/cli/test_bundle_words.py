"""Words of a bundle: those that are known, and nothing else; pseudonyms of addresses keep common prefixes."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.cli.bundle.pseudonyms import Pseudonyms, kept_key
from controller.cli.bundle.redaction import Redaction
from controller.cli.bundle.words import HIDDEN, Words

PSEUDONYMS = Pseudonyms(b"k" * 32)


def words(pseudonyms: Pseudonyms | None = None) -> Words:
    made = Words(pseudonyms)
    for kind, name in (("cloudlet", "c1"), ("endpoint", "c1-lan"), ("routeserver", "rs1")):
        made.learn(kind, name)
    return made


@pytest.mark.parametrize(
    "text",
    [
        "The agent of c1 is not connected; its last report is compared.",
        "rs1 is at generation 7, the controller at 12: connection refused",
        "c1-lan has no tunnel to c1 (192.0.2.1), VTEP 2001:db8::1, receive VNI 4098",
        "10.1.0.0/24: route-left, 2001:db8:1::/64",
        "the session of c1/rs1, signed=no, at 2026-01-02T03:04:05+00:00",
        "https://192.0.2.1:9179 and https://[2001:db8::1]:9179",
        "65000:1 [2001:db8::1]:179 192.0.2.1:179 02:57:aa:bb:cc:dd 12.5% 40ms pw1.7 v1",
        "",
        "  two  spaces\n",
    ],
)
def test_known_words_stay(text: str) -> None:
    assert words().text(text) == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("c2 is away", "… is away"),
        ("password=swordfish!", "password=…"),
        ("weft:weft@db", "…"),
        ("postgresql://weft:weft/x", "…"),
        ("c1-swordfish", "…"),
        ("swordfish-2024", "…"),
        ("https://192.0.2.1/swordfish?a=b", "https://192.0.2.1"),
        ("fe80::1%swordfish", "…::…"),
        ("/etc/weft/swordfish.key", "/etc/weft/…"),
        ("123456789012345", "…"),
        ("10.1.0.0/33", "10.1.0.0/33"),
        ("0x5f5f5f", "…"),
    ],
)
def test_other_words_do_not(text: str, kept: str) -> None:
    found = words()
    assert found.text(text) == kept
    assert (found.hidden > 0) is (HIDDEN in kept)


@pytest.mark.parametrize("name", ["", "A", "a b", "-a", "a" * 64, "5f" * 16, "k3" * 20, None, 7, "x@y"])
def test_what_has_no_name_s_form_is_not_learned(name: object) -> None:
    found = Words()
    found.learn("cloudlet", name)
    assert found.name(str(name)) is None


@given(st.lists(st.ip_addresses(), min_size=2, max_size=2, unique=True))
def test_addresses_share_as_many_bits_as_those_that_they_stand_for(pair: list[IPv4Address | IPv6Address]) -> None:
    one, other = pair
    if one.version != other.version or any(a.is_loopback or a.is_unspecified or a.is_multicast for a in pair):
        return
    fresh = PSEUDONYMS.address(one), PSEUDONYMS.address(other)
    assert (int(one) ^ int(other)).bit_length() == (int(fresh[0]) ^ int(fresh[1])).bit_length()


def test_prefixes_keep_their_lengths_and_other_keys_give_other_pseudonyms() -> None:
    found = words(PSEUDONYMS)
    lan, gateway, inside = found.text("10.1.0.0/24 10.1.0.1/24 10.1.0.77").split()
    assert ip_network(lan).prefixlen == 24 and gateway.endswith("/24")
    assert ip_address(inside) in ip_network(lan) and ip_address(gateway.split("/")[0]) in ip_network(lan)
    assert lan != "10.1.0.0/24" and words(Pseudonyms(b"l" * 32)).text("10.1.0.0/24") != lan
    assert found.text("127.0.0.1 0.0.0.0 224.0.0.1 ::1") == "127.0.0.1 0.0.0.0 224.0.0.1 ::1"
    assert found.text("0.0.0.0/0") == "0.0.0.0/0"


def test_numbers_that_name_somebody_are_replaced() -> None:
    found = words(PSEUDONYMS)
    target, mac, gateway = found.text("65000:7 02:00:5e:00:00:01 02:57:00:00:00:01").split()
    assert target.endswith(":7") and not target.startswith("65000") and target == f"{found.asn(65000)}:7"
    assert mac.startswith("02:") and gateway.startswith("02:57:") and len({mac, gateway}) == 2
    assert Redaction(found).of({"asn": 65000}, {"asn"}) == {"asn": found.asn(65000)}


def test_fields_and_keys() -> None:
    redaction = Redaction(words())
    value = {
        "state": "up",
        "secret": "x",
        "rs1": {"state": "down"},
        "data": {"lease": 1, "swordfish": 2},
        "list": [object()],
    }
    assert redaction.of(value, {"state", "data", "list"}) == {
        "state": "up", "rs1": {"state": "down"}, "data": {"lease": 1}, "list": [None]
    }  # fmt: skip
    assert redaction.left_out == 2


def test_metrics() -> None:
    counted = 'weft_http_requests_total{method="GET",route="/api/v1/cloudlets/{name}",status="200"} 4.0'
    gauges = ['weft_route_server_in_step{name="rs1",extra="x"} 1.0', "weft_leading 1e+09"]
    others = ["other_metric 1", "weft_swordfish 1", "nonsense"]
    text = "\n".join(["# TYPE weft_leading gauge", counted, *gauges, *others])
    redaction = Redaction(words())
    kept = [counted, 'weft_route_server_in_step{name="rs1"} 1.0', "weft_leading 1e+09"]
    assert redaction.of_metrics(text).splitlines() == kept
    assert redaction.left_out == 3


def test_the_key_is_made_once_and_is_the_user_s_own(tmp_path: Path) -> None:
    path = tmp_path / "state" / "gather.key"
    assert kept_key(path) == kept_key(path) and len(kept_key(path)) == 32
    assert path.stat().st_mode & 0o077 == 0
