"""Detection of foreign chains and settings that drop traffic."""

from pathlib import Path
from typing import Any

import pytest

from agents.host import host
from agents.host.chains import Chain, dropping, passes
from agents.host.host import Host
from agents.host.settings import findings, paths

LANS = ("lan1", "lan2")
FORWARD = Chain("ip", "filter", "FORWARD", "forward")


def chain(policy: str = "drop", **changes: Any) -> dict[str, Any]:
    values = {"family": "ip", "table": "filter", "name": "FORWARD", "type": "filter", "hook": "forward", "prio": 0}
    return {"chain": values | {"policy": policy} | changes}


def rule(name: str, *expressions: dict[str, Any]) -> dict[str, Any]:
    return {"rule": {"family": "ip", "table": "filter", "chain": name, "expr": list(expressions)}}


def match(key: str, right: Any) -> dict[str, Any]:
    return {"match": {"op": "==", "left": {"meta": {"key": key}}, "right": right}}


def port(right: Any) -> dict[str, Any]:
    return {"match": {"op": "==", "left": {"payload": {"protocol": "udp", "field": "dport"}}, "right": right}}


ACCEPT: dict[str, Any] = {"accept": None}


def test_base_chains_of_others_that_drop_by_policy() -> None:
    others = [
        chain(policy="accept"),
        chain(table="weft"),
        chain(hook="ingress", family="netdev"),
        {"chain": {"family": "ip", "table": "filter", "name": "DOCKER"}},
        {"metainfo": {}},
    ]
    assert dropping([*others, chain()]) == [FORWARD]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([], False),
        ([rule("FORWARD", ACCEPT)], True),
        ([rule("FORWARD", {"counter": None}, ACCEPT)], True),
        ([rule("FORWARD", match("iifname", "docker0"), ACCEPT)], False),
        ([rule("FORWARD", match("iifname", "lan1"), ACCEPT)], False),
        ([rule("FORWARD", match("iifname", "lan*"), ACCEPT)], True),
        ([rule("FORWARD", match("oifname", {"set": list(LANS)}), ACCEPT)], True),
        ([rule("FORWARD", {"xt": None}, ACCEPT)], False),
        ([rule("USER", match("iifname", "lan*"), ACCEPT)], False),
        (
            [
                rule(
                    "FORWARD",
                    {"jump": {"target": "USER"}},
                ),
                rule("USER", match("iifname", "lan*"), ACCEPT),
            ],
            True,
        ),
        ([rule("FORWARD", {"jump": {"target": "FORWARD"}})], False),
    ],
)
def test_a_chain_lets_lans_through_by_name(rules: list[dict[str, Any]], expected: bool) -> None:
    assert passes(FORWARD, rules, LANS) is expected


@pytest.mark.parametrize("right", [4789, {"range": [4000, 5000]}, {"set": [22, 4789]}, {"set": [{"range": [1, 9999]}]}])
def test_vxlan_comes_in_by_its_port(right: Any) -> None:
    inward = Chain("inet", "filter", "input", "input")
    assert passes(inward, [rule("input", port(right), ACCEPT)], LANS)
    assert not passes(inward, [rule("input", port(22), ACCEPT)], LANS)


def test_settings_are_named_with_what_they_should_be() -> None:
    good = dict.fromkeys(paths(LANS), "0")
    assert findings(good, LANS) == []
    strict = good | {"net/ipv4/conf/all/rp_filter": "1", "net/ipv4/conf/lan1/rp_filter": "1"}
    assert [(f.subject, f.expected) for f in findings(strict, LANS)] == [("net.ipv4.conf.all.rp_filter", "0 or 2")]
    silent = good | {"net/ipv4/conf/lan2/arp_ignore": "8"}
    assert [(f.subject, f.found) for f in findings(silent, LANS)] == [("net.ipv4.conf.lan2.arp_ignore", "8")]
    assert findings({}, LANS) == [] and findings({"net/ipv4/conf/all/proxy_arp": "what"}, LANS) == []


async def test_a_containers_host_is_told_that_bridged_packets_drop_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def listed(*_: str) -> list[dict[str, Any]]:
        return [chain()]

    monkeypatch.setattr(host, "chains", listed)
    monkeypatch.setattr(host, "objects", listed)
    setting = tmp_path / "net/bridge/bridge-nf-call-iptables"
    setting.parent.mkdir(parents=True)
    watcher = Host(lambda: None, tmp_path)
    assert await watcher.look() == [], "no LANs"
    watcher.intend(LANS)
    for value, told in (("0\n", False), ("1\n", True)):
        setting.write_text(value)
        (finding,) = await watcher.look()
        assert ("only bridged" in finding.text) is told
