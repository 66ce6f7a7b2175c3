"""For any answer of a guest's agent, both drivers return a text or raise one kind of error, within bounds."""

import asyncio
import base64
import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.hypervisors.hypervisor import HypervisorError
from agents.hypervisors.qemu.guest_agent import GuestAgent
from agents.hypervisors.qemu.guest_answer import LONGEST
from tests.unit.agents.hypervisors.hostile_guest import (
    PID,
    HostileSocket,
    asked_by_libvirt,
    asked_by_socket,
    by_libvirt,
    by_socket,
)

HELLO = b'{"return": {"exited": true, "exitcode": 0, "out-data": "aGVsbG8="}}\n'


def status(**fields: Any) -> bytes:
    given_ = {name.replace("_", "-"): value for name, value in fields.items()}
    return json.dumps({"return": {"exited": True, "exitcode": 0, **given_}}).encode() + b"\n"


WRONG: dict[str, Sequence[bytes]] = {
    "a text for an error": [b'{"error": "x"}\n'],
    "a list for an error": [b'{"error": [1]}\n'],
    "an error without a word": [b'{"error": {}}\n'],
    "an error that is a number": [b'{"error": {"desc": 7}}\n'],
    "an error with a terminal's commands": [b'{"error": {"desc": "\\u001b[2J\\ud800"}}\n'],
    "null": [b"null\n"],
    "a list": [b"[]\n"],
    "a number": [b"7\n"],
    "nothing": [b"\n"],
    "no answer in the object": [b"{}\n"],
    "null for an answer": [b'{"return": null}\n'],
    "NaN": [b'{"return": {"pid": NaN}}\n'],
    "a text for a pid": [b'{"return": {"pid": "7"}}\n'],
    "a pid that is true": [b'{"return": {"pid": true}}\n'],
    "a fraction of a pid": [b'{"return": {"pid": 7.5}}\n'],
    "an endless pid": [b'{"return": {"pid": ' + b"1" * 100 + b"}}\n"],
    "deep": [b"[" * 100_000 + b"\n"],
    "deep within": [b'{"return": ' + b'{"a": ' * 90_000 + b"\n"],
    "wide": [b'{"return": [' + b"{}," * 1_000_000 + b"{}]}\n"],
    "no UTF-8": [b'{"return": {"pid": "\xc3\x28"}}\n'],
    "another's answer": [PID, PID],
    "exited that is a text": [PID, status(exited="yes")],
    "exited that is a number": [PID, status(exited=1)],
    "no word on whether it exited": [PID, b'{"return": {"exitcode": 0}}\n'],
    "an exit code that is a text": [PID, status(exitcode="0")],
    "an exit code that is null": [PID, status(exitcode=None)],
    "no base64": [PID, status(out_data="aGVsbG8")],
    "no base64 at all": [PID, status(out_data="<script>")],
    "output that is a number": [PID, status(out_data=7)],
    "output that is null": [PID, status(out_data=None)],
    "output without ASCII": [PID, status(out_data="ähm=")],
    "a failure with a terminal's commands": [PID, status(exitcode=1, err_data=base64.b64encode(b"\x1b[2J").decode())],
    "more output than is taken": [PID, status(out_data="QUFB" * (LONGEST // 4))],
}


def fine(error: HypervisorError) -> None:
    assert type(error) is HypervisorError
    assert str(error).startswith("vm1: ") and str(error).isprintable() and len(str(error)) < 600


@pytest.mark.parametrize("answers", WRONG.values(), ids=WRONG)
async def test_what_is_no_answer_is_one_kind_of_error(answers: Sequence[bytes], tmp_path: Path) -> None:
    for asking in (asked_by_socket(HostileSocket(answers), tmp_path, 5), asked_by_libvirt(answers, 5)):
        with pytest.raises(HypervisorError) as caught:
            await asking
        fine(caught.value)
        assert "did not finish" not in str(caught.value)


@pytest.mark.parametrize(
    "guest",
    [
        HostileSocket([b'{"return": {"p'], hangs_up=True),
        HostileSocket([PID, b'{"return": '], hangs_up=True),
        HostileSocket([b'{"return": {"p']),
        HostileSocket([PID]),
        HostileSocket([], deaf=True),
        HostileSocket([], deaf=True, sync=b"x" * 10_000),
        HostileSocket([PID, HELLO], delay=0.3),
        HostileSocket([], deaf=True, sync=b"\xff{}\n" * 200_000),
        HostileSocket([], deaf=True, sync=b'\xff{"return": 1}\n' * 200_000),
        HostileSocket([], deaf=True, sync=b"x" * (2 * LONGEST + 1)),
        HostileSocket([], deaf=True, sync=b"\xff" + b"[" * 200_000 + b"\n"),
    ],
    ids=range(11),
)
async def test_a_guest_that_says_half_nothing_or_without_end(guest: HostileSocket, tmp_path: Path) -> None:
    with pytest.raises(HypervisorError) as caught:
        await asked_by_socket(guest, tmp_path, 0.25)
    fine(caught.value)


async def test_what_is_left_of_other_talk_is_skipped(tmp_path: Path) -> None:
    other = b'"half", "of"}\n\xff{"return": 1}\n\xffnull\n\xff[[[\n'
    assert await asked_by_socket(HostileSocket([PID, HELLO], sync=other), tmp_path, 5) == "hello"


async def test_a_line_without_end_takes_no_more_memory_than_an_answer_may(tmp_path: Path) -> None:
    guest = HostileSocket([b"x" * (20 << 20)])  # made before the measurement
    tracemalloc.start()
    try:
        with pytest.raises(HypervisorError, match=f"more than {LONGEST} bytes"):
            await asked_by_socket(guest, tmp_path, 30)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * LONGEST  # asyncio reads ahead to twice its limit


async def test_an_object_takes_no_more_memory_than_a_few_of_its_texts(tmp_path: Path) -> None:
    """Empty objects need twenty times the memory of their text."""
    wide = b'{"return": [' + b"{}," * (LONGEST // 3 - 10) + b"{}]}\n"
    tracemalloc.start()
    try:
        with pytest.raises(HypervisorError, match="parts"):
            await asked_by_libvirt([wide], 30)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * LONGEST


async def test_others_have_their_turn_while_a_guest_talks_without_end(tmp_path: Path) -> None:
    guest = HostileSocket([], deaf=True, sync=b"\xff{}\n" * 1_000_000)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    with pytest.raises(HypervisorError, match="that was not asked"):
        await asked_by_socket(guest, tmp_path, 30)
    task.cancel()
    assert turns > 10


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.text(max_size=20),
        st.binary(max_size=20).map(lambda data: base64.b64encode(data).decode()),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["return", "error", "pid", "exited", "exitcode", "out-data", "desc", "id"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)
answers = st.one_of(
    st.just(PID),
    st.just(HELLO),
    values.map(lambda value: json.dumps(value).encode() + b"\n"),
    values.map(lambda value: json.dumps({"return": value}).encode() + b"\n"),
    st.fixed_dictionaries({"exited": values, "exitcode": values, "out-data": values}).map(
        lambda value: json.dumps({"return": value}).encode() + b"\n"
    ),
    st.binary(max_size=200).map(lambda data: data + b"\n"),
    st.binary(max_size=50),
    st.integers(1, 5).map(lambda n: b"[" * 10**n + b"\n"),
    st.integers(1, 5).map(lambda n: PID[:-1] + b" " * 10**n + b"\n"),
)


@st.composite
def talk(draw: st.DrawFn) -> list[bytes]:
    """Draw some answers, each of which may be cut, doubled, or followed by half of another one."""
    found = []
    for one in draw(st.lists(answers, max_size=4)):
        cut = draw(st.sampled_from([len(one), len(one), len(one) // 2]))
        found.append(one[:cut] * draw(st.sampled_from([1, 1, 1, 2])))
    return found


@given(said=talk(), sync=st.binary(max_size=30), delay=st.sampled_from([0.0, 0.0, 0.001, 0.02]), ends=st.booleans())
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_a_text_or_the_one_error(tmp_path: Path, said: list[bytes], sync: bytes, delay: float, ends: bool) -> None:
    async def both() -> None:
        guest = HostileSocket(said, sync=sync, delay=delay, hangs_up=ends)
        for asking in (asked_by_socket(guest, tmp_path, 0.02), asked_by_libvirt(said, 0.02, delay)):
            try:
                assert isinstance(await asking, str)
            except HypervisorError as error:
                fine(error)

    asyncio.run(both())


async def test_a_guest_that_answers_is_there(tmp_path: Path) -> None:
    pong = [b'{"return": {}}\n']
    async with by_socket(HostileSocket(pong), tmp_path) as agent:
        assert await agent.answers()
    assert await by_libvirt(pong).answers()


@pytest.mark.parametrize("answers", [[b"null\n"], [b"[" * 100_000 + b"\n"], [b"x" * (2 * LONGEST) + b"\n"], []])
async def test_a_guest_that_answers_no_ping_is_silent_or_one_kind_of_error(
    answers: Sequence[bytes], tmp_path: Path
) -> None:
    async def answered(agent: GuestAgent) -> bool:
        try:
            async with asyncio.timeout(1):
                return await agent.answers()
        except (HypervisorError, TimeoutError):
            return False

    async with by_socket(HostileSocket(answers), tmp_path) as agent:
        assert not await answered(agent)
    assert not await answered(by_libvirt(answers))
