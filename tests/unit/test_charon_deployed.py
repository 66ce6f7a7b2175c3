"""charon in containers and by its unit: it is installed, it is configured like the lab's, and its agent finds it."""

import fnmatch
import re
import subprocess
from pathlib import Path

import pytest

import agents.ipsec.daemon
from agents.main import main
from agents.settings import IpsecSettings, load
from lab import daemons
from lab.paths import ROOT
from lab.topology import load as topology
from tests import sandbox
from tests.unit.test_compose import SERVICES, instructions

CHARON = SERVICES["charon"]
UNIT = sandbox.unit(ROOT / "deploy/systemd/weft-charon.service")
RUN = f"/run/{UNIT['RuntimeDirectory'][0]}"
SPARE = {"kdf", "hmac"}
"""Plugins that Debian 13 has in a package which nothing needs: openssl's plugin does their work there."""
TABLE = re.compile(r"^# (\[ipsec\])\n# (vici = .*)$", re.MULTILINE)


@pytest.fixture(params=[True, False], ids=["kernel", "charon"])
def esp(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set whether the kernel or charon handles ESP."""
    monkeypatch.setattr(agents.ipsec.daemon, "kernel_esp", lambda: request.param)
    monkeypatch.setattr(daemons, "kernel_esp", lambda: request.param)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The agent's file with the table turned on, as its comment describes."""
    text, turned = TABLE.subn(r"\1\n\2", (ROOT / "deploy/agent.toml").read_text())
    assert turned == 1
    (tmp_path / "agent.toml").write_text(text)
    return tmp_path / "agent.toml"


def told(config: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The strongswan.conf for an agent."""
    assert main(["strongswan", "--config", str(config)]) == 0
    return capsys.readouterr().out


def packages(text: str) -> set[str]:
    return set(re.findall(r"\b(?:strongswan-\w+|lib\w+-(?:extra|standard)-plugins|charon-systemd)\b", text))


def test_it_is_off_until_somebody_turns_it_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert load(ROOT / "deploy/agent.toml").ipsec is None and CHARON["profiles"] == ["ipsec"]
    assert main(["strongswan", "--config", str(ROOT / "deploy/agent.toml")]) == 1, "so charon is not started"
    assert "ipsec: not there" in capsys.readouterr().err


@pytest.mark.usefixtures("esp")
def test_the_agent_s_container_finds_it(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = load(config).ipsec
    assert found is not None and f"socket = unix://{found.vici} " in told(config, capsys)
    shared = f"charon:{found.vici.parent}"
    assert shared in CHARON["volumes"] and shared in SERVICES["agent"]["volumes"]
    assert CHARON["network_mode"] == SERVICES["agent"]["network_mode"] == "host"
    [ours] = [volume for volume in CHARON["volumes"] if "agent.toml" in volume]
    assert ours in SERVICES["agent"]["volumes"], "both read one file"


def test_the_container_writes_what_charon_reads() -> None:
    [script] = CHARON["command"]
    conf = CHARON["environment"]["STRONGSWAN_CONF"]
    mounted = next(v for v in CHARON["volumes"] if "agent.toml" in v).split(":")[1]
    assert f"strongswan --config {mounted} >{conf}\n" in script and str(Path(conf).parent) in CHARON["tmpfs"]
    assert CHARON["entrypoint"] == ["sh", "-ec"], "it ends where there is nothing to write"
    assert "/dev/net/tun" in CHARON["devices"]


@pytest.mark.usefixtures("esp")
def test_it_has_the_settings_of_the_lab(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemons, "LAB", tmp_path)
    cloudlet = topology(ROOT / "lab/topologies/ipsec.yaml").cloudlets[0]
    [record] = daemons.charon(cloudlet).values()
    lab = Path(record.env["STRONGSWAN_CONF"]).read_text()
    own = re.compile(r"(unix://|path = )\S+")
    text = told(config, capsys)
    assert own.sub(r"\1", text) == own.sub(r"\1", lab) and "make_before_break = yes" in text
    assert "path = stderr\n" in text, "charon holds back what it says on its standard output, whatever flush_line says"


def test_it_has_the_processor_as_in_the_lab() -> None:
    assert 'exec chrt --rr 1 "$2"' in Path(daemons.__file__).read_text()
    assert CHARON["command"][0].endswith(f"exec chrt --rr 1 {daemons.CHARON}\n") and CHARON["ulimits"] == {"rtprio": 1}
    assert UNIT["CPUSchedulingPolicy"] == ["rr"] and UNIT["CPUSchedulingPriority"] == ["1"]
    assert UNIT["ExecStart"] == [str(daemons.CHARON)]


def test_the_same_packages_everywhere() -> None:
    image = [word for line in instructions(ROOT / "deploy/weft.Dockerfile") if line[0] == "RUN" for word in line]
    [page] = re.findall(
        r"^ +apt-get install --no-install-recommends (.*)$", (ROOT / "docs/network/ipsec.md").read_text(), re.MULTILINE
    )
    [installed] = re.findall(r"^packages=\((.*?)^\)", (ROOT / "lab/provision").read_text(), re.MULTILINE | re.DOTALL)
    lab = packages(installed)
    assert packages(" ".join(image)) == packages(page) == lab and len(lab) == 4


@pytest.mark.skipif(not Path("/usr/lib/ipsec/plugins").exists(), reason="no strongSwan on this machine")
@pytest.mark.usefixtures("esp")
def test_they_have_every_plugin(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = packages((ROOT / "deploy/weft.Dockerfile").read_text()) | {"libstrongswan", "strongswan-libcharon"}
    [plugins] = re.findall(r"load = (.*)", told(config, capsys))
    for plugin in plugins.split():
        file = f"/usr/lib/ipsec/plugins/libstrongswan-{plugin}.so"
        if plugin in SPARE and not Path(file).exists():
            continue
        said = subprocess.run(["dpkg", "-S", file], capture_output=True, text=True, check=True).stdout
        assert said.split(":")[0] in here, f"{plugin} is in {said}"


def test_the_unit_s_paths_fit() -> None:
    assert UNIT["BindPaths"] == [f"{RUN}:/run"]
    [condition], [link] = UNIT["ExecCondition"], UNIT["ExecStartPre"]
    conf = Path(UNIT["Environment"][0].removeprefix("STRONGSWAN_CONF="))
    assert f"strongswan --config /etc/weft/agent.toml >{RUN}/{conf.name}'" in condition
    vici = IpsecSettings().vici
    assert link.endswith(f" -sfn {Path(RUN).name}/{vici.name} {vici}"), "where an agent looks that is told nothing"
    for file in (conf, vici):
        assert file.parent == Path("/run") and fnmatch.fnmatch(file.name, "charon.*"), "as AppArmor has it"
    agent = sandbox.unit(ROOT / "deploy/systemd/weft-agent.service")
    assert "weft-charon.service" in sandbox.words(agent, "After")
    assert f"--config {condition.split('--config ')[1].split()[0]}" in agent["ExecStart"][0]


def test_debian_s_own_units_make_way() -> None:
    """Only one of them can use the ports."""
    others = set(sandbox.words(UNIT, "Conflicts"))
    assert others == {"strongswan-starter.service", "strongswan.service"} <= set(sandbox.words(UNIT, "After"))
