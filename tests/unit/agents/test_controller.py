"""The door to the controller, over a transport that answers as told; and the lease cache behind it."""

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from agents.backoff import Backoff
from agents.controller import Controller, ControllerAway, ControllerRefused
from agents.dhcp.leases import LeaseRefused
from agents.enrolment import EnrolmentError, credential
from agents.leases import CachedLeases
from agents.state import State, StateError
from controller.wire.desired import Desired
from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest
from tests.unit.agents.desires import desired, endpoint

Handler = Callable[[httpx.Request], httpx.Response]
GRANT = LeaseGrant(address="10.1.0.2", prefix_length=24, gateway="10.1.0.1", kind="md", device="m1", seconds=3600)
REQUEST = LeaseRequest(endpoint="e1", mac="02:00:5e:00:00:01", client_id="01ab")


def controller(handler: Handler) -> Controller:
    return Controller("http://controller/", httpx.MockTransport(handler))


def away(_: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("connection refused")


async def collect(handler: Handler, version: int | None) -> tuple[list[Desired], str, bool]:
    seen, opened = [], []
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
    state = State(tmp_path / "state", "c1")

    def handler(request: httpx.Request) -> httpx.Response:
        assert json.loads(request.content) == {"token": "abc", "cloudlet": "c1", "agent_version": "1"}
        return httpx.Response(201, json={"cloudlet": "c1", "credential": "xyz", "state": "active"})

    async with controller(handler) as door:
        assert await credential(door, state, "c1", tmp_path / "token", "1") == "xyz"
    async with controller(away) as door:  # the second start needs nobody
        assert await credential(door, state, "c1", tmp_path / "no-token", "1") == "xyz"
    assert (tmp_path / "state/credential.json").stat().st_mode & 0o777 == 0o600
    with pytest.raises(StateError, match="belongs to cloudlet c1, not c2"):
        State(tmp_path / "state", "c2").credential()


async def test_enrolment_errors(tmp_path: Path) -> None:
    state, token = State(tmp_path / "state", "c1"), tmp_path / "token"
    async with controller(lambda _: httpx.Response(401, json={"detail": "token expired"})) as door:
        with pytest.raises(EnrolmentError, match=r"token_file .*token: No such file"):
            await credential(door, state, "c1", token, "1")
        token.write_text("\n")
        with pytest.raises(EnrolmentError, match="is empty"):
            await credential(door, state, "c1", token, "1")
        token.write_text("secret")
        with pytest.raises(EnrolmentError, match="refused the token for cloudlet c1: token expired") as caught:
            await credential(door, state, "c1", token, "1")
    assert "secret" not in str(caught.value)


class TestLeases:
    """Granted by the controller; renewed from the cache while it is away, for as long as the lease lasts."""

    async def test_cache(self, tmp_path: Path) -> None:
        state, now = State(tmp_path, "c1"), 1000.0
        async with controller(lambda _: httpx.Response(200, text=GRANT.model_dump_json())) as door:
            assert await CachedLeases(door, state, lambda: now).grant(REQUEST) == GRANT
        async with controller(away) as door:
            leases = CachedLeases(door, state, lambda: now)  # after a restart
            now += 600
            assert await leases.grant(REQUEST) == GRANT.model_copy(update={"seconds": 3000})
            with pytest.raises(ControllerAway):
                await leases.grant(REQUEST.model_copy(update={"client_id": "01cd"}))
            now += 3000
            with pytest.raises(ControllerAway):
                await leases.grant(REQUEST)

    async def test_refusal_empties_the_cache(self, tmp_path: Path) -> None:
        state = State(tmp_path, "c1")
        async with controller(lambda _: httpx.Response(200, text=GRANT.model_dump_json())) as door:
            await CachedLeases(door, state).grant(REQUEST)
        async with controller(lambda _: httpx.Response(409, json={"detail": "the plan is full"})) as door:
            with pytest.raises(LeaseRefused, match="the plan is full"):
                await CachedLeases(door, state).grant(REQUEST)
        async with controller(away) as door:
            with pytest.raises(ControllerAway):
                await CachedLeases(door, state).grant(REQUEST)

    async def test_release(self, tmp_path: Path) -> None:
        state = State(tmp_path, "c1")
        async with controller(lambda _: httpx.Response(200, text=GRANT.model_dump_json())) as door:
            await CachedLeases(door, state).grant(REQUEST)
        async with controller(away) as door:
            leases = CachedLeases(door, state)
            release = LeaseRelease(endpoint="e1", address="10.1.0.2", mac=REQUEST.mac, client_id="01ab")
            with pytest.raises(ControllerAway):
                await leases.release(release)
            with pytest.raises(ControllerAway):  # it is not renewed from the cache any more
                await leases.grant(REQUEST)

    async def test_a_spoilt_cache_is_forgotten(self, tmp_path: Path) -> None:
        (tmp_path / "leases.json").write_text('{"e1 x": 3}')
        async with controller(lambda _: httpx.Response(200, text=GRANT.model_dump_json())) as door:
            assert await CachedLeases(door, State(tmp_path, "c1")).grant(REQUEST) == GRANT


def test_desired_state_is_kept(tmp_path: Path) -> None:
    state = State(tmp_path / "a/b", "c1")
    assert state.desired() is None
    state.save_desired(desired(endpoint(1)))
    assert state.desired() == desired(endpoint(1))
    assert State(tmp_path / "a/b", "c2").desired() is None
    (tmp_path / "a/b/desired.json").write_text("{}")
    assert state.desired() is None


def test_backoff_grows_to_its_cap_and_starts_anew() -> None:
    backoff = Backoff(first=0.1, cap=5.0, random=lambda: 1.0)
    assert [round(backoff.delay(), 3) for _ in range(8)] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    backoff.reset()
    assert backoff.delay() == 0.1
    assert 0.05 <= Backoff(random=lambda: 0.0).delay() < 0.1
