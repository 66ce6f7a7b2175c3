"""`weft audit`."""

from typing import Any

from tests.unit.cli.conftest import Controller, Weft

ENTRY: dict[str, Any] = {
    "number": 1,
    "at": "2026-01-01T00:00:00Z",
    "who": "token ana",
    "method": "POST",
    "path": "/api/v1/vcps",
    "status": 201,
}
SOUND = {"entries": 2, "number": 2, "seal": "5f", "flaw": None}


def test_the_last_entry_comes_last(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/audit"] = {"items": [ENTRY | {"number": 2}, ENTRY], "next": None}
    result = weft("audit", "list", "--who", "token ana", "--under", "/api/v1/vcps", "--limit", "10")
    assert result.code == 0 and "2026-01-01T00:00:00" in result.out
    assert dict(controller.last.url.params) == {"limit": "10", "who": "token ana", "under": "/api/v1/vcps"}
    assert [entry["number"] for entry in weft("audit", "list", "-o", "json").json] == [1, 2]


def test_verify_names_what_was_tampered_with(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/audit/verification"] = SOUND
    result = weft("audit", "verify", "--noted", "1:ab")
    assert result.code == 0 and "the last is 2:5f" in result.out
    assert dict(controller.last.url.params) == {"number": "1", "seal": "ab"}
    flaw = {"number": 3, "reason": "entry 3 is missing"}
    controller.answers["GET", "/api/v1/audit/verification"] = SOUND | {"flaw": flaw}
    result = weft("audit", "verify")
    assert result.code == 1 and "tampered with: entry 3 is missing" in result.err
