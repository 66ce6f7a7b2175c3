"""The command line."""

from pathlib import Path

import pytest

from agents import main as command


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(["--version"])
    assert stopped.value.code == 0 and capsys.readouterr().out.startswith("weft-agent ")


def test_a_wrong_file_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["run", "--config", str(tmp_path / "none.toml")]) == 1
    assert capsys.readouterr().err == f"weft-agent: {tmp_path}/none.toml: No such file or directory\n"


def test_root_is_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "agent.toml"
    config.write_text('cloudlet = "c1"\ncontroller = "http://h"\ntoken_file = "/t"\nstate_dir = "/s"\n')
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert command.main(["run", "--config", str(config)]) == 1
    assert "must run as root" in capsys.readouterr().err


def test_wrong_usage() -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(["walk"])
    assert stopped.value.code == 2
