"""The lab's calls to a controller that is absent."""

import gc
import socket
import warnings
from pathlib import Path

import pytest

from lab import rest
from lab.errors import LabError


def test_a_controller_that_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the call without an answer, and no socket stays open."""
    path = tmp_path / "controller.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    monkeypatch.setattr(rest, "SOCKET", path)
    with warnings.catch_warnings(record=True) as warned, rest.Rest() as client:
        warnings.simplefilter("always")
        with pytest.raises(LabError, match=r"does not answer GET /moves/walk: Connection refused"):
            client.get("/moves/walk")
        assert not client.ready()
        gc.collect()
    assert not [str(one.message) for one in warned if one.category is ResourceWarning]


def test_ctrl_c_does_not_wait_for_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C may come while the client takes its lock, which is then never released."""
    client = rest.Rest()
    closed: list[bool] = []
    with monkeypatch.context() as patched:
        patched.setattr(client.http, "close", lambda: closed.append(True))
        with pytest.raises(KeyboardInterrupt), client:
            raise KeyboardInterrupt
        assert not closed
        with pytest.raises(LabError), client:
            raise LabError("something else")
        assert closed
    client.http.close()
