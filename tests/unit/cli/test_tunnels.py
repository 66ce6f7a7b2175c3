"""`weft tunnel`: present tunnels, missing tunnels, and the reasons."""

from typing import Any

from tests.unit.cli.conftest import Controller, Weft

ROW: dict[str, Any] = {
    "cloudlet": "c1",
    "peer": "c2",
    "local": "192.0.2.1",
    "remote": "192.0.2.2",
    "state": "up",
    "since": "2026-01-01T00:00:00Z",
    "needed": True,
    "alarm": None,
    "ike": "AES_GCM_16_256/PRF_HMAC_SHA2_384/CURVE_25519",
    "esp": "AES_GCM_16_256/CURVE_25519",
    "keyed_at": "2026-01-01T00:00:00Z",
    "rekey_at": "2026-01-01T01:00:00Z",
    "bytes_in": 3 << 20,
    "bytes_out": 512,
    "packets_in": 2100,
    "packets_out": 7,
    "dropped_in": 0,
    "dropped_out": 4,
    "why": None,
    "at": "2026-01-01T00:00:30Z",
}
MISSING = ROW | {
    "peer": "c3",
    "state": "down",
    "alarm": "2026-01-01T00:00:00Z",
    "ike": "",
    "esp": "",
    "keyed_at": None,
    "rekey_at": None,
    "why": "the peer does not answer",
}


def test_list(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/tunnels"] = {"items": [ROW, MISSING], "next": None}
    result = weft("tunnel", "list", "c1", "--alarm")
    assert dict(controller.last.url.params) == {"cloudlet": "c1", "alarm": "true", "limit": "1000"}
    lines = result.out.splitlines()
    assert lines[1].split()[:3] == ["c1", "c2", "up"] and "3 MiB" in lines[1] and "4 out, 0 in" in lines[1]
    assert lines[2].split()[:3] == ["c1", "c3", "DOWN"] and lines[2].rstrip().endswith("the peer does not answer")
    assert weft("tunnel", "list", "-o", "json").json == [ROW, MISSING]
    weft("tunnel", "list", "--state", "down")
    assert dict(controller.last.url.params) == {"state": "down", "limit": "1000"}
    controller.answers["GET", "/api/v1/tunnels"] = {"items": [], "next": None}
    assert weft("tunnel", "list").out == "no tunnels\n"


def test_show(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/tunnels/c1/c3"] = MISSING
    result = weft("tunnel", "show", "c1", "c3")
    assert "192.0.2.1 to 192.0.2.2" in result.out and "the peer does not answer" in result.out
    assert "3 MiB, 2100 packets" in result.out and "DOWN" in result.out
    assert weft("tunnel", "show", "c1", "c3", "-o", "json").json == MISSING
