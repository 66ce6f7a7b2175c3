"""The configuration file: an error message names the file and the key."""

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
    assert settings.gobgp.api == "unix:///run/weft-gobgpd/api.sock"
    settings = load(written(tmp_path, GOOD + '[gobgp]\napi = "127.0.0.1:1"\n[frr]\nvty_dir = "/v"\nconf = "/c"\n'))
    assert (settings.gobgp.api, settings.frr.vty_dir, settings.frr.conf) == ("127.0.0.1:1", Path("/v"), Path("/c"))


def test_one_controller_or_several(tmp_path: Path) -> None:
    assert [*map(str, load(written(tmp_path, GOOD)).controller)] == ["http://10.0.0.1:8080/"]
    several = GOOD.replace('"http://10.0.0.1:8080"', '["http://10.0.0.1:8080", "http://10.0.0.2:8080"]')
    assert [*map(str, load(written(tmp_path, several)).controller)] == [f"http://10.0.0.{n}:8080/" for n in (1, 2)]
    with pytest.raises(ConfigError, match="controller: "):
        load(written(tmp_path, GOOD.replace('"http://10.0.0.1:8080"', "[]")))


def test_hypervisors(tmp_path: Path) -> None:
    text = '[hypervisors.qemu]\npaths = ["10.0.0.1", "10.1.0.1"]\nimages = "/i"\n'
    text += '[hypervisors.qemu.options]\naccel = "tcg"\n'
    found = load(written(tmp_path, GOOD + text)).hypervisors["qemu"]
    assert ([*map(str, found.paths)], found.images, found.options) == (
        ["10.0.0.1", "10.1.0.1"],
        Path("/i"),
        {"accel": "tcg"},
    )


def test_images(tmp_path: Path) -> None:
    plain = load(written(tmp_path, GOOD)).images
    assert (plain.directory, plain.most_bytes, plain.port) == (Path("/var/lib/weft/images"), None, 7790)
    text = '[images]\ndirectory = "/i"\nmost_bytes = 1000\nport = 0\ncredentials = "/c"\n'
    found = load(written(tmp_path, GOOD + text)).images
    assert (found.directory, found.most_bytes, found.port, found.credentials) == (Path("/i"), 1000, 0, Path("/c"))


def test_metrics(tmp_path: Path) -> None:
    assert load(written(tmp_path, GOOD)).metrics.file is None
    found = load(written(tmp_path, GOOD + '[metrics]\nfile = "/var/lib/prometheus/node-exporter/weft.prom"\n'))
    assert found.metrics.file == Path("/var/lib/prometheus/node-exporter/weft.prom")
    for wrong in ("/var/lib/weft.txt", "weft.prom"):
        with pytest.raises(ConfigError, match=r"metrics\.file: .*\*\.prom"):
            load(written(tmp_path, GOOD + f'[metrics]\nfile = "{wrong}"\n'))


def test_tunnels_are_in_the_clear_unless_told_otherwise(tmp_path: Path) -> None:
    assert load(written(tmp_path, GOOD)).ipsec is None
    found = load(written(tmp_path, GOOD + "[ipsec]\n")).ipsec
    assert found is not None and (found.vici, found.path_mtu) == (Path("/run/charon.vici"), 1500)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD + '[hypervisors.qemu]\npaths = ["here"]\n', "agent.toml: hypervisors.qemu.paths.0:"),
        (GOOD + "[hypervisors.QEMU]\n", "agent.toml: hypervisors.QEMU"),
        ("cloudlet = ", "agent.toml: not TOML"),
        (GOOD.replace('cloudlet = "c1"', 'cloudlet = ""'), "agent.toml: cloudlet:"),
        (GOOD.replace("http:", "gopher:"), "agent.toml: controller.0:"),
        (GOOD.replace("token_file", "token"), "agent.toml: token_file: Field required"),
        (GOOD + "[ipsec]\npath_mtu = 1300\n", "agent.toml: ipsec.path_mtu:"),
        (GOOD + "[images]\nmost_bytes = -1\n", "agent.toml: images.most_bytes:"),
        (GOOD + "colour = 1\n", "agent.toml: colour:"),
        (GOOD + '[gobgp]\napi = "nowhere"\n', "agent.toml: gobgp.api:"),
        (GOOD + '[gobgp]\napi = "unix://run/api.sock"\n', "agent.toml: gobgp.api:"),
        (GOOD + f'[gobgp]\napi = "unix:///{"x" * 107}"\n', "agent.toml: gobgp.api:"),
        (GOOD + '[gobgp]\napi = "/run/api.sock:1"\n', "agent.toml: gobgp.api:"),
        (GOOD + "[frr]\nvty_dir = 3\n", "agent.toml: frr.vty_dir:"),
    ],
)
def test_errors_name_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said.replace(".", r"\.")):
        load(written(tmp_path, text))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: No such file or directory"):
        load(tmp_path / "none.toml")
