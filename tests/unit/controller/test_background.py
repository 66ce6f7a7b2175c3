"""A failure in background work ends the controller, with the reason; the service manager starts it again."""

import gc
from pathlib import Path

import pytest

from controller.agents.tunnels import Tunnels
from controller.changes.drift import Drift
from controller.runtime.event_log import EventLog
from controller.runtime.supervisor import Ended
from controller.server import sockets
from controller.server.serving import serve
from controller.settings import Settings


@pytest.mark.parametrize(
    ("part", "work", "service"), [(Tunnels, "run", "agents"), (Drift, "watch", "changes"), (EventLog, "run", "records")]
)
async def test_a_controller_does_not_go_on_without_a_part_of_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: type, work: str, service: str
) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("this was not foreseen")

    monkeypatch.setattr(part, work, fail)
    settings = Settings(database_url=f"sqlite:///{tmp_path}/weft.db", listen="127.0.0.1:0")
    before = gc.get_threshold()
    try:
        with pytest.raises(Ended, match=rf"{service} failed: RuntimeError.*not foreseen"):
            await serve(settings, sockets.opened(settings))
    finally:
        gc.set_threshold(*before)
        gc.enable()
