"""The attacks of test_limits.py without the defence: each succeeds, so the defence is what stops it."""

import asyncio

import pytest

from controller.api.middleware import body_limits, request_head
from tests.unit.controller.listening import AGENT, BEARER, JSON, OPERATOR, Listen
from tests.unit.controller.test_limits import BOMBS, PATHS, head

pytestmark = pytest.mark.slow

NONE = {"peer_connections": 1000, "request_seconds": 600.0, "caller_rate": 0.0, "stranger_rate": 0.0}


async def test_who_is_slow_is_waited_for(listen: Listen) -> None:
    async with listen(**NONE) as controller:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.5):
                await controller.raw(head())


async def test_many_connections_are_held(listen: Listen) -> None:
    async with listen(**NONE) as controller:
        held = [await asyncio.open_connection("127.0.0.1", controller.port) for _ in range(10)]
        await asyncio.sleep(0.05)
        said = await controller.raw(head("/healthz", "GET", "Connection: close\r\n") + "\r\n")
        assert " 200 " in said.splitlines()[0]
        for _, writer in held:
            writer.close()


async def test_guesses_and_calls_have_no_end(listen: Listen) -> None:
    async with listen(**NONE) as controller:
        for number in range(30):
            guess = {"Authorization": f"Bearer guess-{number}"}
            assert (await controller.http.get("/api/v1/vcps", headers=guess)).status_code == 401
            assert (await controller.http.get("/api/v1/agent/none", headers=AGENT)).status_code == 404


async def test_what_is_large_is_read(listen: Listen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_limits, "MAX_BODY", 2**30)
    async with listen(**NONE) as controller:
        large = b'{"name": "blue", "description": "' + b"#" * (512 * 1024) + b'"}'
        answer = await controller.http.post("/api/v1/vcps", content=large, headers=OPERATOR | JSON)
        assert answer.status_code not in (400, 413), answer.text[:300]


@pytest.mark.parametrize("bomb", ["arrays that end", "objects", "negative", "UTF-16"])
async def test_bombs_are_read(listen: Listen, monkeypatch: pytest.MonkeyPatch, bomb: str) -> None:
    """Python's JSON reader accepts or rejects the body by itself."""
    monkeypatch.setattr(body_limits, "unfit", lambda _body: None)
    value = BOMBS[bomb]
    whole = value if isinstance(value, bytes) else f'{{"name": "blue", "description": {value}}}'.encode()
    async with listen(**NONE) as controller:
        answer = await controller.http.post("/api/v1/vcps", content=whole, headers=OPERATOR | JSON)
        assert '"detail":"The body ' not in answer.text


async def test_paths_with_two_meanings_are_followed(listen: Listen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_head, "_path", lambda _path: None)
    async with listen(**NONE) as controller:
        said = [await controller.raw(head(p, "GET", BEARER + "Connection: close\r\n") + "\r\n") for p in PATHS]
        assert all("The path has" not in each for each in said)
        assert sum(each.startswith("HTTP/1.1 400 ") for each in said) < len(PATHS)
