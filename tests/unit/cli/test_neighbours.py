"""`weft neighbour`: tables, matrices for users and for spreadsheets, and times as users write them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.unit.cli.conftest import Controller, Weft

ROW: dict[str, Any] = {
    "cloudlet": "c1",
    "neighbour": "c2",
    "possible": True,
    "stale": False,
    "since": "2026-01-01T00:00:00Z",
    "at": "2026-01-01T00:00:00Z",
    "method": "icmp",
    "sent": 5,
    "received": 4,
    "min_ms": 9.5,
    "median_ms": 10.25,
    "p95_ms": 12.0,
    "jitter_ms": 0.5,
    "loss": 0.2,
}
SILENT = ROW | {"neighbour": "c3", "possible": False, "stale": True, "median_ms": None, "min_ms": None}
MATRIX = {"cloudlets": ["c1", "c2", "c3"], "median_ms": {"c1": {"c2": 10.25, "c3": None}, "c2": {"c1": 10.5}}}


def test_list(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/neighbours"] = {"items": [ROW, SILENT], "next": None}
    result = weft("neighbour", "list", "c1", "--possible")
    assert controller.last.url.params["cloudlet"] == "c1" and controller.last.url.params["possible"] == "true"
    assert "stale" not in controller.last.url.params
    lines = result.out.splitlines()
    assert lines[1].split()[:4] == ["c1", "c2", "possible", "10"] and "20 %" in lines[1]
    assert lines[2].split()[:4] == ["c1", "c3", "stale", "-"]
    assert weft("neighbour", "list", "-o", "json").json == [ROW, SILENT]


@pytest.mark.parametrize(("text", "hours"), [("2h", 2), ("90min", 1.5), ("1d", 24), ("30 s", 1 / 120)])
def test_history_since_so_long_ago(controller: Controller, weft: Weft, text: str, hours: float) -> None:
    past = {k: ROW[k] for k in ("at", "method", "sent", "received", "min_ms", "median_ms", "p95_ms", "jitter_ms")}
    controller.answers["GET", "/api/v1/neighbours/history"] = {
        "items": [past | {"rounds": 60, "loss": 0.2}],
        "next": None,
    }
    result = weft("neighbour", "history", "c1", "c2", "--since", text, "--span", "hour")
    assert result.code == 0 and "2026-01-01T00:00:00" in result.out and " 60 " in result.out
    params = controller.last.url.params
    assert (params["cloudlet"], params["neighbour"], params["span"]) == ("c1", "c2", "hour")
    ago = datetime.now(UTC) - datetime.fromisoformat(params["since"])
    assert abs(ago - timedelta(hours=hours)) < timedelta(seconds=20)


def test_history_since_a_moment_and_nonsense(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/neighbours/history"] = {"items": [], "next": None}
    result = weft("neighbour", "history", "c1", "c2", "--since", "2026-01-31")
    assert controller.last.url.params["since"] == "2026-01-31T00:00:00+00:00"
    assert "c1 has measured nothing of c2" in result.out
    wrong = weft("neighbour", "history", "c1", "c2", "--since", "yesterday")
    assert wrong.code == 2 and "such as 6h" in wrong.err


def test_matrix(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/neighbours/matrix"] = MATRIX
    lines = [line.split() for line in weft("neighbour", "matrix", "--vcp", "blue").out.splitlines()]
    assert controller.last.url.params["vcp"] == "blue"
    assert lines[0] == ["FROM", "c1", "c2", "c3"]
    assert lines[1:] == [["c1", ".", "10.25", "lost"], ["c2", "10.50", ".", "-"], ["c3", "-", "-", "."]]
    assert weft("neighbour", "matrix", "-o", "csv").out == "cloudlet,c1,c2,c3\nc1,,10.25,\nc2,10.50,,\nc3,,,\n"
    assert weft("neighbour", "matrix", "-o", "json").json == MATRIX
    many = {"cloudlets": [f"c{n}" for n in range(99)], "median_ms": MATRIX["median_ms"]}
    controller.answers["GET", "/api/v1/neighbours/matrix"] = many
    assert "too many for a table" in weft("neighbour", "matrix").out
    assert len(weft("neighbour", "matrix", "-o", "csv").out.splitlines()) == 100
    controller.answers["GET", "/api/v1/neighbours/matrix"] = {"cloudlets": ["c1"], "median_ms": {}}
    assert weft("neighbour", "matrix").out == "nothing measured\n"


def test_bandwidth(controller: Controller, weft: Weft) -> None:
    row = {"cloudlet": "c1", "neighbour": "c2", "bits_per_second": 94.5e6, "moves": 3, "at": ROW["at"]}
    row |= {"last_bytes": 250_000_000, "last_seconds": 21.4}
    controller.answers["GET", "/api/v1/neighbours/bandwidths"] = {"items": [row], "next": None}
    assert "94.5" in (out := weft("neighbour", "bandwidth").out) and "250.0 MB in 21.4 s" in out
