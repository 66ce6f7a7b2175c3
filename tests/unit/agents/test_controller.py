"""The door to the controller, over a transport with prepared answers."""

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from agents.backoff import Backoff
from agents.controller.client import Controller, ControllerAway, ControllerRefused, Document
from agents.identity import Identity
from agents.identity.enrolment import EnrolmentError, credential
from agents.storage.state import StateDirectory, StateError
from controller.wire.moves import MoveReport, Orders
from controller.wire.neighbours import Candidate, Candidates
from tests.unit.agents.desires import desired, endpoint

Handler = Callable[[httpx.Request], httpx.Response]


def controller(handler: Handler) -> Controller:
    return Controller("http://controller/", transport=httpx.MockTransport(handler))


def away(_: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("connection refused")


async def test_when_one_replica_is_away_the_next_is_spoken_to() -> None:
    asked: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.host)
        assert request.url.path.startswith("/api/v1/agent/")
        if request.url.host == "a":
            raise httpx.ConnectError("connection refused")
        if request.url.path.endswith("desired"):
            return httpx.Response(503, json={"detail": "stopping"})
        return httpx.Response(403, json={"detail": "no"})

    async with Controller("http://a", "http://b/", transport=httpx.MockTransport(handler)) as door:
        for _ in range(4):
            with pytest.raises(ControllerAway):
                async for _state in door.desired(None, lambda: None):
                    pass
        assert asked == ["a", "b", "a", "b"]
        for kind in (ControllerAway, ControllerRefused, ControllerRefused):
            with pytest.raises(kind):
                await door._post("agent/reports", desired(endpoint(1)))
        assert asked[4:] == ["a", "b", "b"], "a no is an answer"


async def test_a_controller_that_asks_to_be_left_alone_is(monkeypatch: pytest.MonkeyPatch) -> None:
    now, asked = 1000.0, 0
    monkeypatch.setattr("agents.controller.client.time.monotonic", lambda: now)

    def handler(_: httpx.Request) -> httpx.Response:
        nonlocal asked
        asked += 1
        return httpx.Response(429, headers={"Retry-After": "7"}, json={"detail": "too many"})

    async with controller(handler) as door:
        for at, count in ((1000.0, 1), (1001.0, 1), (1006.9, 1), (1007.1, 2), (1014.0, 2)):
            now = at
            with pytest.raises(ControllerAway):
                await door._post("agent/reports", desired(endpoint(1)))
            with pytest.raises(ControllerAway):
                async for _state in door.desired(None, lambda: None):
                    pass
            assert asked == count, at


async def test_meanwhile_another_replica_is_asked() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        return httpx.Response(429, headers={"Retry-After": "60"}) if request.url.host == "a" else httpx.Response(204)

    async with Controller("http://a", "http://b", transport=httpx.MockTransport(handler)) as door:
        with pytest.raises(ControllerAway):
            await door._post("agent/reports", desired(endpoint(1)))
        for _ in range(3):
            await door._post("agent/reports", desired(endpoint(1)))


async def collect(handler: Handler, version: int | None) -> tuple[list[Document], str, bool]:
    seen: list[Document] = []
    opened = []
    async with controller(handler) as door:
        try:
            async for state in door.desired(version, lambda: opened.append(True)):
                seen.append(state)
        except ControllerAway as error:
            return seen, str(error), bool(opened)
        except ControllerRefused as error:
            return seen, f"{error.status} {error}", bool(opened)
    raise AssertionError("the stream ended without a reason")


async def test_the_stream_resumes_and_gives_documents() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/api/v1/agent/desired" and request.headers["last-event-id"] == "7"
        event = f"event: desired\nid: 1\ndata: {desired(endpoint(1)).model_dump_json()}\n\n"
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=": ping\n\n" + event)

    assert await collect(handler, 7) == ([desired(endpoint(1))], "closed the stream", True)


async def test_whom_to_probe_comes_beside_it_and_what_is_not_understood_is_passed_over() -> None:
    candidates = Candidates(
        cloudlet="c1",
        vtep="192.0.2.1",
        probe_seconds=60,
        report_seconds=60,
        echoes=5,
        candidates=[Candidate(cloudlet="c2", vtep="192.0.2.2")],
    )
    later = candidates.model_dump_json().replace('"echoes"', '"of_a_later_release":1,"echoes"')
    events = (("candidates", later), ("weather", "fine"), ("candidates", candidates.model_dump_json()))

    def handler(request: httpx.Request) -> httpx.Response:
        text = "".join(f"event: {name}\ndata: {data}\n\n" for name, data in events)
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=text)

    assert await collect(handler, None) == ([candidates], "closed the stream", True)


async def test_orders_come_beside_it_and_progress_goes_back() -> None:
    orders = Orders(cloudlet="c1", orders=[])
    sent: list[tuple[str, MoveReport]] = []

    def handler(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            sent.append((request.url.path, MoveReport.model_validate_json(request.content)))
            return httpx.Response(204)
        text = f"event: orders\ndata: {{}}\n\nevent: orders\ndata: {orders.model_dump_json()}\n\n"
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=text)

    assert await collect(handler, None) == ([orders], "closed the stream", True)
    async with controller(handler) as door:
        await door.moves(MoveReport(cloudlet="c1"))
    assert sent == [("/api/v1/agent/moves", MoveReport(cloudlet="c1"))]


@pytest.mark.parametrize(
    ("handler", "said", "opened"),
    [
        (away, "connection refused", False),
        (lambda _: httpx.Response(503, json={"detail": "starting"}), "starting", False),
        (lambda _: httpx.Response(401, json={"title": "Unauthorized"}), "401 Unauthorized", False),
        (lambda _: httpx.Response(404, text="nothing"), "404 HTTP 404", False),
        (lambda _: httpx.Response(200, text="hello"), "Expected response header Content-Type", True),
        (
            lambda _: httpx.Response(
                200, headers={"content-type": "text/event-stream"}, text="event: desired\ndata: {}\n\n"
            ),
            "sent a desired state that this agent does not understand",
            True,
        ),
    ],
)
async def test_what_can_go_wrong_with_the_stream(handler: Handler, said: str, opened: bool) -> None:
    seen, text, was_opened = await collect(handler, None)
    assert seen == [] and text.startswith(said) and was_opened is opened


async def test_enrolment_keeps_the_credential(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc\n")
    state = StateDirectory(tmp_path / "state", "c1")

    def handler(request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.content)
        assert asked.pop("csr").startswith("-----BEGIN CERTIFICATE REQUEST-----")
        assert asked.pop("credential") == (tmp_path / "state/proposed").read_text()
        assert asked == {"token": "abc", "cloudlet": "c1", "agent_version": "1"}
        return httpx.Response(201, json={"cloudlet": "c1", "credential": "xyz", "state": "active"})

    async with controller(handler) as door:
        identity = Identity("c1", door, tmp_path / "identity")
        assert await credential(door, state, identity, "c1", tmp_path / "token", "1") == "xyz"
    async with controller(away) as door:  # the second start needs no controller
        assert await credential(door, state, identity, "c1", tmp_path / "no-token", "1") == "xyz"
    assert (tmp_path / "state/credential.json").stat().st_mode & 0o777 == 0o600
    with pytest.raises(StateError, match="belongs to cloudlet c1, not c2"):
        StateDirectory(tmp_path / "state", "c2").credential()


async def test_enrolment_errors(tmp_path: Path) -> None:
    state, token = StateDirectory(tmp_path / "state", "c1"), tmp_path / "token"
    async with controller(lambda _: httpx.Response(401, json={"detail": "token expired"})) as door:
        identity = Identity("c1", door, tmp_path / "identity")
        with pytest.raises(EnrolmentError, match=r"token_file .*token: No such file"):
            await credential(door, state, identity, "c1", token, "1")
        token.write_text("\n")
        with pytest.raises(EnrolmentError, match="is empty"):
            await credential(door, state, identity, "c1", token, "1")
        token.write_text("secret")
        with pytest.raises(EnrolmentError, match="refused the token for cloudlet c1: token expired") as caught:
            await credential(door, state, identity, "c1", token, "1")
    assert "secret" not in str(caught.value)


def test_desired_state_is_kept(tmp_path: Path) -> None:
    state = StateDirectory(tmp_path / "a/b", "c1")
    assert state.desired() is None
    state.save_desired(desired(endpoint(1)))
    assert state.desired() == desired(endpoint(1))
    assert StateDirectory(tmp_path / "a/b", "c2").desired() is None
    (tmp_path / "a/b/desired.json").write_text("{}")
    assert state.desired() is None


def test_backoff_grows_to_its_cap_and_starts_anew() -> None:
    backoff = Backoff(first=0.1, cap=5.0, random=lambda: 1.0)
    assert [round(backoff.delay(), 3) for _ in range(8)] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    backoff.reset()
    assert backoff.delay() == 0.1
    assert 0.05 <= Backoff(random=lambda: 0.0).delay() < 0.1
