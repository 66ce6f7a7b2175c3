"""The configuration file: what is wrong is named with file and key."""

from pathlib import Path

import pytest

from agents.settings import ConfigError, load

GOOD = 'cloudlet = "c1"\ncontroller = "http://10.0.0.1:8080"\ntoken_file = "/t"\nstate_dir = "/s"\n'


def written(directory: Path, text: str) -> Path:
    path = directory / "agent.toml"
    path.write_text(text)
    return path


def test_defaults_and_tables(tmp_path: Path) -> None:
    settings = load(written(tmp_path, GOOD))
    assert settings.gobgp.api == "127.0.0.1:50051"
    settings = load(written(tmp_path, GOOD + '[gobgp]\napi = "127.0.0.1:1"\n[frr]\nvty_dir = "/v"\nconf = "/c"\n'))
    assert (settings.gobgp.api, settings.frr.vty_dir, settings.frr.conf) == ("127.0.0.1:1", Path("/v"), Path("/c"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cloudlet = ", "agent.toml: not TOML"),
        (GOOD.replace('cloudlet = "c1"', 'cloudlet = ""'), "agent.toml: cloudlet:"),
        (GOOD.replace("http:", "gopher:"), "agent.toml: controller:"),
        (GOOD.replace("token_file", "token"), "agent.toml: token_file: Field required"),
        (GOOD + "colour = 1\n", "agent.toml: colour:"),
        (GOOD + '[gobgp]\napi = "nowhere"\n', "agent.toml: gobgp.api:"),
        (GOOD + "[frr]\nvty_dir = 3\n", "agent.toml: frr.vty_dir:"),
    ],
)
def test_errors_name_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said.replace(".", r"\.")):
        load(written(tmp_path, text))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: No such file or directory"):
        load(tmp_path / "none.toml")
