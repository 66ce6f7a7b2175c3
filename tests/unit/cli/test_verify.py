"""`weft verify` prints each pair, names what differs, and says what was not probed."""

from typing import Any

import pytest

from tests.unit.cli.conftest import Controller, Weft

PASSES = {
    "near": "c1-lan", "far": "c2-lan", "family": "ipv4", "expected": "passes", "why": "", "observed": "passes",
    "rtt_ms": 4.25, "mtu": 1450, "differs": "", "causes": [],
}  # fmt: skip
NOTHING = {"observed": "silent", "rtt_ms": None, "mtu": None}
FORBIDDEN = PASSES | NOTHING | {"far": "c3-lan", "expected": "silent", "why": "they share no pool"}
FILTERED = PASSES | {"expected": "resolves", "observed": "resolves", "why": "rule 'quiet' of blue drops ICMP"}
BROKEN = PASSES | NOTHING | {"differs": "the gateway of c2-lan answers no ARP: nothing passes"}
BROKEN |= {"causes": ["c1-lan has no tunnel to c2-lan at c2 (192.0.2.2)."]}


def answer(*pairs: dict[str, Any], **changes: Any) -> dict[str, Any]:
    counts = {"passing": 1, "filtered": 0, "forbidden": 1, "forbidden_of": 2}
    return {"ok": True, "seconds": 2.5, "pairs": list(pairs), "unasked": [], "unable": {}} | counts | changes


def test_all_is_as_it_should_be(controller: Controller, weft: Weft) -> None:
    controller.answers["POST", "/api/v1/doctor/probes"] = answer(PASSES, FORBIDDEN, FILTERED)
    result = weft("verify")
    assert (result.code, result.err) == (0, "")
    assert controller.body == {"a": None, "b": None, "sample": 50}
    out = " ".join(result.out.split())
    assert "c1-lan c2-lan ipv4 passes 4.25 ms 1450" in out
    assert "does not pass, as it should" in out and "filtered, as it should be" in out
    assert "1 must not pass (chosen from 2 pairs of LANs)" in out and "✓ all as it should be" in out
    assert weft("verify", "--output", "json").json == answer(PASSES, FORBIDDEN, FILTERED)


def test_one_pool_alone(controller: Controller, weft: Weft) -> None:
    controller.answers["POST", "/api/v1/doctor/probes"] = answer(PASSES)
    assert weft("verify", "--vcp", "blue").code == 0
    assert controller.body == {"a": None, "b": None, "vcp": "blue", "sample": 50}


def test_differences_are_named_with_their_causes(controller: Controller, weft: Weft) -> None:
    controller.answers["POST", "/api/v1/doctor/probes"] = answer(BROKEN, ok=False)
    result = weft("verify", "c1", "c2-lan", "--sample", "7")
    assert result.code == 1 and "1 of 1 differ" in result.err
    assert controller.body == {"a": "c1", "b": "c2-lan", "sample": 7}
    out = " ".join(result.out.split())
    assert "✗ c1-lan to c2-lan (ipv4): the gateway of c2-lan answers no ARP" in out
    assert "c1-lan has no tunnel to c2-lan" in out and "as it should" not in out


def test_those_that_cannot_be_asked_are_named(controller: Controller, weft: Weft) -> None:
    late = {"near": "c1-lan", "far": "c2-lan", "reason": "the agent of c1 sent no result in time"}
    controller.answers["POST", "/api/v1/doctor/probes"] = answer(
        ok=False, unasked=[late], unable={"r1": "its PE has no agent"}
    )
    result = weft("verify")
    assert result.code == 1 and "results are missing" in result.err
    assert "no pair was probed" in result.out and "r1 cannot be asked: its PE has no agent" in result.out
    assert "not probed: c1-lan to c2-lan: the agent of c1 sent no result in time" in " ".join(result.out.split())


@pytest.mark.parametrize("words", [("c1",), ("c1", "c2", "c3"), ("c1", "c2", "--vcp", "blue")])
def test_wrong_usage(controller: Controller, weft: Weft, words: tuple[str, ...]) -> None:
    assert weft("verify", *words).code == 2
    assert not controller.asked
