"""`weft route reset` and `refresh`: one route server after the other, and nothing that a user does not expect."""

import json
from typing import Any

import httpx
import pytest

from controller.cli import confirmation, peer_sessions
from tests.unit.cli.conftest import Controller, Weft, problem


class Region:
    """Two route servers with a session each, which come back at once after a reset, or never."""

    def __init__(self, controller: Controller) -> None:
        self.since = {"rs1": 0, "rs2": 0}
        self.state = {"rs1": "established", "rs2": "established"}
        self.returns = True
        self.resets: list[dict[str, Any]] = []
        controller.answers["GET", "/api/v1/route-servers"] = self.servers
        controller.answers["POST", "/api/v1/routes/reset"] = self.reset
        controller.answers["POST", "/api/v1/routes/refresh"] = self.refresh
        self.refused: list[dict[str, str]] = []

    def servers(self, request: httpx.Request) -> httpx.Response:
        counts = {"prefixes_in": 3, "prefixes_out": 5}
        items = [
            {"name": n, "sessions": [{"peer": "c5", "state": self.state[n], "since": self.since[n]} | counts]}
            for n in self.since
        ]
        return httpx.Response(200, json={"items": items, "next": None})

    def reset(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.resets.append(body)
        names = [body["route_server"]] if "route_server" in body else list(self.since)
        for name in names:
            if self.returns:
                self.since[name] += 1
            else:
                self.state[name] = "active"
        done = {"peer": "c5", "was": "established", "graceful": False, "prefixes_in": 3, "prefixes_out": 5}
        servers = [{"route_server": name} | done for name in names]
        return httpx.Response(200, json={"route_servers": servers, "refused": self.refused, "unreachable": []})

    def refresh(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.resets.append(body)
        done = {"route_server": "rs1", "peer": "c5", "asked": ["l2vpn-vpls"], "resent": [], "enhanced": True}
        return httpx.Response(200, json={"route_servers": [done], "refused": self.refused, "unreachable": ["rs2"]})


@pytest.fixture
def region(controller: Controller) -> Region:
    return Region(controller)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record the pauses between two looks, without waiting."""
    seconds: list[float] = []
    monkeypatch.setattr("controller.cli.peer_sessions.time.sleep", seconds.append)
    return seconds


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Answers that a user at a terminal will give."""
    given: list[bool] = []
    for module in (confirmation, peer_sessions):
        monkeypatch.setattr(module, "interactive", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda question, err: given.pop(0))
    return given


def test_sessions_are_reset_one_after_the_other(region: Region, weft: Weft, pauses: list[float]) -> None:
    result = weft("route", "reset", "c5", "--text", "ticket 17")
    assert result.code == 0 and pauses == [peer_sessions.EVERY]
    assert region.resets == [{"peer": "c5", "route_server": n, "text": "ticket 17"} for n in ("rs1", "rs2")]
    assert [line[:4] for line in result.out.splitlines()] == ["rs1:", "rs2:"] and "3 routes of it" in result.out


def test_the_next_is_left_alone_if_one_does_not_come_back(region: Region, weft: Weft, pauses: list[float]) -> None:
    region.returns = False
    result = weft("route", "reset", "c5")
    assert result.code == 1 and len(region.resets) == 1
    assert sum(pauses) == peer_sessions.PATIENCE
    assert "no session with rs1 after 120 s" in result.err and "--route-server rs2" in result.err


@pytest.mark.parametrize(
    ("more", "asked"),
    [(("--route-server", "rs2"), {"peer": "c5", "route_server": "rs2"}), (("--at-once",), {"peer": "c5"})],
)
def test_one_session_or_all_at_once(
    region: Region, weft: Weft, pauses: list[float], more: tuple[str, ...], asked: dict[str, str]
) -> None:
    region.returns = False
    assert weft("route", "reset", "c5", *more).code == 0
    assert region.resets == [asked] and pauses == []
    assert len(weft("route", "reset", "c5", *more, "-o", "json").json["route_servers"]) == (1 if len(more) == 2 else 2)


def test_a_session_that_is_down_is_not_waited_for(region: Region, weft: Weft, pauses: list[float]) -> None:
    region.state["rs1"] = "active"
    assert weft("route", "reset", "c5").code == 0
    assert region.resets == [{"peer": "c5", "route_server": "rs2"}] and pauses == []


@pytest.mark.usefixtures("pauses")
def test_a_user_is_told_what_ends_and_asked(region: Region, weft: Weft, answers: list[bool]) -> None:
    for more, told in (
        ((), "Each one ends when the one before is back"),
        (("--route-server", "rs1"), "Meanwhile rs2 serves it."),
        (("--at-once",), "its LANs are cut off"),
    ):
        answers[:] = [False]
        result = weft("route", "reset", "c5", *more)
        assert result.code == 1 and "nothing was changed" in result.err and region.resets == []
        assert told in result.out and "rs1, established: 3 routes of it, 5 that it is sent" in result.out
    answers[:] = [True]
    assert weft("route", "reset", "c5").code == 0 and len(region.resets) == 2
    region.resets.clear()
    assert weft("route", "reset", "c5", "--yes").code == 0 and len(region.resets) == 2


def test_a_soft_reset_is_a_refresh(region: Region, weft: Weft, answers: list[bool]) -> None:
    result = weft("route", "reset", "c5", "--soft")
    assert result.code == 0 and answers == []
    assert region.resets == [{"peer": "c5", "direction": "both"}]
    assert "rs1: c5 is asked for its routes (l2vpn-vpls)" in result.out and "rs2 did not answer" in result.err


def test_a_refresh(region: Region, weft: Weft) -> None:
    line = "route refresh c5 --direction out --family l2vpn-evpn --route-server rs1"
    assert weft(*line.split()).code == 0
    assert region.resets == [{"peer": "c5", "direction": "out", "family": "l2vpn-evpn", "route_server": "rs1"}]
    region.refused = [{"route_server": "rs2", "message": "it did not announce the capability"}]
    result = weft("route", "refresh", "c5")
    assert result.code == 1 and "rs2: it did not announce the capability" in result.err


def test_a_refusal_is_passed_on(controller: Controller, region: Region, weft: Weft) -> None:
    controller.answers["POST", "/api/v1/routes/refresh"] = problem(409, "Conflict", "rs1: no session with c5")
    result = weft("route", "refresh", "c5")
    assert result.code == 3 and "no session with c5" in result.err
