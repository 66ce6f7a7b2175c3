"""A monitor whose QEMU sends no greeting any more."""

import asyncio
import json
from pathlib import Path

import pytest

from agents.hypervisors.qemu import monitor
from agents.hypervisors.qemu.monitor import Monitor, MonitorAway

VERSION = {"qemu": {"major": 10, "minor": 0, "micro": 2}, "package": ""}
GREETING = {"QMP": {"version": VERSION, "capabilities": ["oob"]}}


async def test_who_was_greeted_in_time_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, deaf, heard = tmp_path / "rescue", asyncio.Event(), list[str]()

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not deaf.is_set():
            writer.write(json.dumps(GREETING).encode() + b"\n")
        while line := await reader.read(4096):  # each client waits for its answer
            said = json.loads(line)
            heard.append(said.get("execute") or said["exec-oob"])
            writer.write(json.dumps({"return": {}} | ({"id": said["id"]} if "id" in said else {})).encode() + b"\n")
        writer.close()

    monkeypatch.setattr(monitor, "PATIENCE", 0.5)
    async with await asyncio.start_unix_server(meet, path):
        rescue = Monitor("vm1", path)
        for _ in range(2):
            await rescue.greet()
        deaf.set()
        async with rescue.session() as session:
            await session.out_of_band("migrate-pause")
        assert heard == ["qmp_capabilities", "migrate-pause"]
        with pytest.raises(MonitorAway, match="vm1: QEMU's monitor does not answer"):
            await rescue.greet()
