"""The lab's charon: it is where its agent looks for it, also after it was killed."""

import signal
from pathlib import Path

import pytest

from agents.ipsec.charon import Charon, CharonAway
from lab import daemons
from lab.paths import ROOT
from lab.patience import eventually
from lab.topology import load
from tests.integration import ipsec_site
from tests.integration.agent_namespaces import namespaces

reason = ipsec_site.usable()
pytestmark = [pytest.mark.lab, pytest.mark.skipif(reason is not None, reason=reason or "")]


async def test_it_starts_and_starts_again_after_it_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemons, "LAB", tmp_path)
    topology = load(ROOT / "lab/topologies/ipsec.yaml")
    cloudlet = topology.cloudlets[0]
    [record] = daemons.charon(cloudlet).values()
    there = Charon(daemons.vici(cloudlet))

    async def answers() -> bool:
        try:
            return await there.connections() == frozenset()
        except CharonAway:
            return False

    with namespaces("one") as [space]:
        words = [f"{name}={value}" for name, value in record.env.items()]
        for _ in range(2):
            process = space.spawn("env", *words, *record.argv, log=tmp_path / "out")
            await eventually(answers, lambda: (tmp_path / "out").read_text())
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert not await answers()
