"""Requests that are too large, too slow, too many or misleading, sent to a listening controller."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from controller.api.middleware import rate_limit
from controller.core.clock import now
from controller.trust import ceremony
from tests.tiers import smoke_first
from tests.unit.controller.conftest import problem
from tests.unit.controller.listening import AGENT, BEARER, JSON, OPERATOR, Listen


def head(path: str = "/api/v1/vcps", method: str = "POST", more: str = BEARER) -> str:
    return f"{method} {path} HTTP/1.1\r\nHost: c\r\n{more}"


# -- slow -----------------------------------------------------------------------------------------------------------
async def test_a_request_that_does_not_arrive_in_time_is_ended(listen: Listen) -> None:
    half = json.dumps({"name": "blue"}).encode()[:5]
    body = head() + "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    slow: list[tuple[list[bytes | str], float]] = [
        ([], 0.0),  # nothing at all
        ([head()], 0.0),  # a head without an end
        ([head(), *(["X: y\r\n"] * 40)], 0.05),  # slow loris: another line just in time
        ([body, *([half] * 15)], 0.1),  # the same in the body
        ([head() + "Transfer-Encoding: chunked\r\n\r\n", *(["1\r\n \r\n"] * 15)], 0.1),
    ]
    async with listen(request_seconds=0.5) as controller:
        for pieces, pause in slow:
            began = time.monotonic()
            async with asyncio.timeout(5):
                answer = await controller.raw(*pieces, pause=pause)
            assert time.monotonic() - began >= 0.45
            assert answer == "" or "408 " in answer.splitlines()[0], answer
            if answer:
                assert "application/problem+json" in answer and "did not arrive within" in answer
        assert (await controller.http.get("/healthz")).status_code == 200
        assert "blue" not in controller.region.intent.vcps


async def test_who_takes_no_answer_is_left(listen: Listen) -> None:
    """The answer fills the sockets' buffers, and the client reads nothing."""
    async with listen(request_seconds=0.5) as controller:
        reader, writer = await asyncio.open_connection("127.0.0.1", controller.port, limit=1024)
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        with pytest.raises(ConnectionError):
            async with asyncio.timeout(10):
                while True:
                    writer.write((head("/openapi.json", "GET", "") + "\r\n").encode() * 20)
                    await writer.drain()
                    await asyncio.sleep(0.01)
        writer.close()


async def test_a_stream_lasts(listen: Listen) -> None:
    """A stream that is slow because it has nothing to send is not cut."""
    async with listen(request_seconds=0.3) as controller, controller.http.stream(
        "GET", "/api/v1/agent/desired", headers=AGENT
    ) as stream:  # fmt: skip
        lines = stream.aiter_lines()
        assert [line async for line in _until_empty(lines)]
        await asyncio.sleep(1.0)
        await controller.http.post("/api/v1/vcps", json={"name": "blue"}, headers=OPERATOR)
        assert not stream.is_closed


async def _until_empty(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    async for line in lines:
        if not line:
            return
        yield line


# -- many -----------------------------------------------------------------------------------------------------------
async def test_connections_of_one_peer_are_counted_and_forgotten(listen: Listen) -> None:
    async with listen(peer_connections=3) as controller:
        held = [await asyncio.open_connection("127.0.0.1", controller.port) for _ in range(3)]
        await asyncio.sleep(0.05)
        refused = await controller.raw(head("/healthz", "GET", "") + "\r\n")
        assert " 503 " in refused.splitlines()[0] and "retry-after: 5" in refused
        assert "3 connections from 127.0.0.1 already" in refused
        for _, writer in held:
            writer.close()
        await asyncio.sleep(0.1)
        assert (await controller.http.get("/healthz")).status_code == 200


async def test_connections_in_all_are_counted(listen: Listen) -> None:
    async with listen(connections=2) as controller:
        held = [await asyncio.open_connection("127.0.0.1", controller.port) for _ in range(2)]
        await asyncio.sleep(0.05)
        assert "There are 2 connections already" in await controller.raw(head("/healthz", "GET", "") + "\r\n")
        for _, writer in held:
            writer.close()


async def test_a_handshake_is_counted_and_has_its_time(listen: Listen, tmp_path: Path) -> None:
    """At the port for agents, a connection without data, or with one byte of TLS at a time, counts from its beginning
    and is closed in time."""
    ceremony.init(tmp_path / "authority", "test", now())
    tls = {"authority": tmp_path / "authority", "agent_listen": "127.0.0.1:0"}
    async with listen(**tls, connections=3, request_seconds=0.5) as controller:
        for _ in range(2):
            began = time.monotonic()
            silent = [asyncio.create_task(controller.raw(port=controller.tls)) for _ in range(2)]
            slow = [b"\x16\x03\x01\x02\x00", *[b"\x01"] * 15]
            silent.append(asyncio.create_task(controller.raw(*slow, pause=0.1, port=controller.tls)))
            await asyncio.sleep(0.2)
            assert "There are 3 connections already" in await controller.raw(head("/healthz", "GET", "") + "\r\n")
            assert await controller.raw("hello", port=controller.tls) == "" and time.monotonic() - began < 0.45
            async with asyncio.timeout(5):
                assert await asyncio.gather(*silent) == ["", "", ""]
            assert time.monotonic() - began >= 0.45
        assert (await controller.http.get("/healthz")).status_code == 200


async def test_a_guesser_is_slowed_down_and_nobody_else(listen: Listen) -> None:
    """One address sends both invalid and valid tokens."""
    async with listen(stranger_rate=0.1, caller_rate=1000) as controller:
        assert (await controller.http.get("/api/v1/vcps", headers=OPERATOR)).status_code == 200
        for number in range(3):
            await controller.http.get("/api/v1/vcps", headers={"Authorization": f"Bearer guess-{number}"})
        answer = await controller.http.get("/api/v1/vcps", headers={"Authorization": "Bearer guess"})
        problem(answer, 429, reason="too many requests")
        assert 1 <= int(answer.headers["retry-after"]) <= 10
        forged = {"X-Forwarded-For": "198.51.100.1", "Forwarded": "for=198.51.100.2", "X-Real-IP": "198.51.100.3"}
        assert (await controller.http.get("/healthz", headers=forged)).status_code == 429
        for _ in range(20):
            assert (await controller.http.get("/api/v1/vcps", headers=OPERATOR)).status_code == 200
            assert (await controller.http.get("/api/v1/agent/none", headers=AGENT)).status_code == 404


async def test_each_caller_has_a_rate(listen: Listen) -> None:
    async with listen(caller_rate=1) as controller:
        answers = [await controller.http.get("/api/v1/agent/none", headers=AGENT) for _ in range(12)]
        assert [answer.status_code for answer in answers[:10]] == [404] * 10 and answers[-1].status_code == 429
        assert (await controller.http.get("/api/v1/vcps", headers=OPERATOR)).status_code == 200, "another has another"


async def test_a_large_body_costs_as_much_as_many_requests(listen: Listen) -> None:
    async with listen(caller_rate=1) as controller:
        half = b"#" * (512 * 1024)
        get, post = controller.http.get, controller.http.post
        assert (await post("/api/v1/agent/reports", content=half, headers=AGENT | JSON)).status_code == 400
        problem(await get("/api/v1/agent/none", headers=AGENT), 429, reason="too many requests")
        assert (await get("/api/v1/vcps", headers=OPERATOR)).status_code == 200, "another's bodies are another's"


async def test_strangers_are_not_in_the_way_of_a_token_that_is_looked_up_again(
    listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limit, "REMEMBERED", -1.0)
    async with listen(stranger_rate=0.1) as controller:
        get = controller.http.get
        assert (await get("/api/v1/vcps", headers=OPERATOR)).status_code == 200
        while (await get("/api/v1/vcps", headers={"Authorization": "Bearer guess"})).status_code != 429:
            pass
        for _ in range(5):
            assert (await get("/api/v1/vcps", headers=OPERATOR)).status_code == 200


async def test_a_token_that_is_revoked_is_a_stranger_s_again_and_lets_nobody_in(listen: Listen) -> None:
    async with listen() as controller:
        body = {"name": "t1", "role": "viewer", "seconds": 600}
        made = (await controller.http.post("/api/v1/tokens", json=body, headers=OPERATOR)).json()
        mine = {"Authorization": f"Bearer {made['token']}"}
        assert (await controller.http.get("/api/v1/vcps", headers=mine)).status_code == 200
        await controller.http.delete("/api/v1/tokens/t1", headers=OPERATOR)
        assert (await controller.http.get("/api/v1/vcps", headers=mine)).status_code == 401


# -- large ----------------------------------------------------------------------------------------------------------
async def test_bodies_have_the_size_that_their_route_needs(listen: Listen) -> None:
    async with listen() as controller:
        half = b"#" * (512 * 1024)
        post = controller.http.post
        problem(await post("/api/v1/vcps", content=half, headers=OPERATOR | JSON), 413, reason="262144")
        problem(await post("/api/v1/policy/check", content=half), 401)
        problem(await post("/api/v1/agent/reports", content=half), 401)
        problem(await post("/api/v1/enrolments", content=half), 413, reason="32768")
        text = {"Content-Type": "text/plain"}
        assert (await post("/api/v1/policy/check", content=half, headers=OPERATOR | text)).status_code == 422
        problem(await post("/api/v1/agent/reports", content=half, headers=AGENT | JSON), 400, reason="not JSON")
        huge = b"#" * (4 * 1024 * 1024 + 1)
        problem(await post("/api/v1/policy/check", content=huge, headers=OPERATOR | text), 413, reason="4194304")
        problem(await post("/api/v1/agent/reports", content=huge, headers=AGENT | JSON), 413, reason="4194304")


async def test_a_body_without_an_end_is_not_read_for_ever(listen: Listen) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 200 * 2**20:
            yield b"[" * 65536
            sent += 65536

    async with listen() as controller:
        try:
            answer = await controller.http.post("/api/v1/vcps", content=endless(), headers=OPERATOR | JSON)
            assert answer.status_code == 413
        except httpx.TransportError:
            pass  # the connection was closed on what was still being sent
        assert sent < 64 * 2**20


BOMBS = {
    "arrays": "[" * 100_000,
    "arrays that end": "[" * 5_000 + "]" * 5_000,
    "objects": '{"a":' * 5_000 + "1" + "}" * 5_000,
    "surrogates and depth": '["\\ud800",' + "[" * 5_000,
    "whole number": "1" * 5_000,
    "negative": "-" + "9" * 200,
    "fraction": "0." + "1" * 5_000,
    "exponent": "1e" + "9" * 200,
    "not a number": "NaN",
    "infinite": "[-Infinity]",
    "UTF-16": '{"name":"x"}'.encode("utf-16"),
    "UTF-32": '{"name":"x"}'.encode("utf-32-le"),
}


@pytest.mark.parametrize("bomb", smoke_first(4, BOMBS))
async def test_json_bombs(listen: Listen, bomb: str) -> None:
    value = BOMBS[bomb]
    whole = value if isinstance(value, bytes) else f'{{"name": "blue", "description": {value}}}'.encode()
    async with listen() as controller:
        for path, who in (("/api/v1/vcps", OPERATOR), ("/api/v1/agent/reports", AGENT), ("/api/v1/enrolments", {})):
            answer = await controller.http.post(path, content=whole, headers=who | JSON)
            problem(answer, 400 if who or len(whole) <= 32768 else 413, reason="The body ")
            assert len(answer.content) < 1000


YAML = {
    "laughs": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{c}: &{c} [{','.join([f'*{b}'] * 9)}]\n" for b, c in zip("abcdefgh", "bcdefghi", strict=True)),
    "merge": "a: &a {x: 1}\nb: {<<: *a}\n",
    "itself": "a: &a [*a]\n",
    "object": "a: !!python/object/apply:os.system ['id']\n",
    "deep": "a: " + "[" * 50_000,
    "number": "a: " + "1" * 100_000,
    "documents": "---\na: 1\n" * 10_000,
}


@pytest.mark.usefixtures("without_collector")  # in a worker that has grown, a collection takes seconds
@pytest.mark.parametrize("bomb", smoke_first(3, YAML))
async def test_yaml_bombs(listen: Listen, bomb: str) -> None:
    async with listen() as controller:
        for verb in ("check", "plan", "apply", "test"):
            began = time.process_time()
            answer = await controller.http.post(
                f"/api/v1/policy/{verb}", content=YAML[bomb].encode(), headers=OPERATOR | {"Content-Type": "text/yaml"}
            )
            problem(answer, 422)
            assert time.process_time() - began < 2
        assert not controller.region.intent.vcps


# -- not what it seems ------------------------------------------------------------------------------------------------
PATHS = [
    "/api/v1/vcps/..%2ftokens",
    "/api/v1/vcps/%2e%2e/tokens",
    "/api/v1/agent/../tokens",
    "/api/v1/./vcps",
    "/api/v1/vcps/a%00b",
    "/api/v1/vcps/a%0d%0aX:%20y",
    "/api/v1/vcps/a%1b%5b31m",
    "/api/v1/vcps/%252e%252e",
    "/api/v1/vcps/a%5cb",
    "/api/v1/vcps/a\\b",
    "/api/v1/vcps/a;b=c",
    "/api/v1/vcps/%ff%fe",
    "/api/v1/vcps/%c2%9b31m",
    "/api/v1/vcps/%c0%ae%c0%ae",
]


async def test_paths_with_two_meanings_are_refused(listen: Listen) -> None:
    async with listen() as controller:
        for path in PATHS:
            answer = await controller.raw(head(path, "GET", BEARER + "Connection: close\r\n") + "\r\n")
            assert answer.startswith("HTTP/1.1 400 ") and "The path has" in answer, (path, answer)
            assert "\x1b" not in answer and "\x9b" not in answer
        for path in ("//api/v1/vcps", "/api/v1//vcps", "/API/v1/vcps", "/api/v1/vcps/", "/api/v1/vcps/\uff42lue", "/x"):
            answer2 = await controller.http.get(path, headers=OPERATOR)
            assert answer2.status_code in (404, 422), path


HEADS = {
    "two lengths": "Content-Length: 2\r\nContent-Length: 20\r\n",
    "a length and chunks": "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
    "chunks of another kind": "Transfer-Encoding: gzip, chunked\r\n",
    "a negative length": "Content-Length: -1\r\n",
    "a length with a sign": "Content-Length: +2\r\n",
    "two hosts": "Content-Length: 2\r\nHost: other\r\n",
    "two callers": "Content-Length: 2\r\nAuthorization: Bearer x\r\n",
    "two types": "Content-Length: 2\r\nContent-Type: application/json\r\nContent-Type: text/plain\r\n",
    "a folded line": "Content-Length: 2\r\nX: a\r\n b: c\r\n\tContent-Length: 5\r\nContent-Length: 5\r\n",
    "a space before the colon": "Content-Length : 2\r\n",
    "a bare line feed in a value": "Content-Length: 2\r\nX: a\x00b\r\n",
}


@pytest.mark.parametrize("trick", smoke_first(4, HEADS))
async def test_heads_with_two_meanings_are_refused(listen: Listen, trick: str) -> None:
    """The data that follows on the connection is not read, since one of the two readings would take it for a
    request."""
    smuggled = head("/api/v1/vcps/blue", "DELETE") + "\r\n"
    async with listen() as controller:
        await controller.http.post("/api/v1/vcps", json={"name": "blue"}, headers=OPERATOR)
        answer = await controller.raw(head() + HEADS[trick] + "\r\n0\r\n\r\n" + smuggled)
        status = answer.split()[1]
        assert status in ("400", "501"), answer
        assert answer.count("HTTP/1.1 ") == 1 and "application/problem+json" in answer, answer
        assert "blue" in controller.region.intent.vcps


async def test_heads_have_a_size(listen: Listen) -> None:
    async with listen() as controller:
        many = "".join(f"X-{n}: y\r\n" for n in range(200))
        for status, more in (("431", many), ("431", f"X: {'y' * 17_000}\r\n"), ("431", f"X: {'y' * 200_000}")):
            answer = await controller.raw(head("/healthz", "GET", more) + "\r\n")
            assert answer == "" or answer.split()[1] == status, answer
            assert answer == "" or "application/problem+json" in answer
        assert (await controller.raw(head(f"/x?{'y' * 9000}", "GET", "") + "\r\n")).split()[1] == "414"
        assert (await controller.http.get("/healthz")).status_code == 200


async def test_a_host_or_a_forwarded_header_changes_nothing(listen: Listen) -> None:
    forged = {
        "Host": "evil.example", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https",
        "X-Forwarded-Prefix": "/evil", "X-Original-URL": "/api/v1/tokens", "X-Rewrite-URL": "/api/v1/tokens",
        "X-HTTP-Method-Override": "DELETE", "X-Forwarded-User": "admin", "X-Weft-Trusted": "1",
    }  # fmt: skip
    async with listen() as controller:
        for path in ("/openapi.json", "/healthz", "/api/v1/vcps", "/api/v1/nothing"):
            plain = await controller.http.get(path, headers=OPERATOR)
            answer = await controller.http.get(path, headers=OPERATOR | forged)
            assert (answer.status_code, answer.content) == (plain.status_code, plain.content)
            assert "evil" not in str(answer.headers)
        assert (await controller.http.get("/api/v1/vcps", headers=forged)).status_code == 401


async def test_an_upgrade_is_not_taken(listen: Listen) -> None:
    async with listen() as controller:
        upgrade = "Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\n"
        answer = await controller.raw(head("/healthz", "GET", upgrade) + "\r\n")
        assert answer.split()[1] in ("200", "400"), answer
