"""Three cloudlets whose agents encrypt: real agents, gobgpd, charons. The controller is a stub (agent_region), but
certificates are made as the controller makes them."""

import asyncio
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from agents.ipsec.device import QUEUE
from controller.wire.reports import Report
from tests.integration import agent_region, ipsec_site
from tests.integration.agent_namespaces import wait_for
from tests.integration.agent_region import PREFIX, Region, pinging, run, vtep
from tests.integration.ipsec_site import PLAIN, Authority, charon, eventually
from tests.integration.stub_controller import StubController, desired

reason = agent_region.usable() or ipsec_site.usable()
pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(reason is not None, reason=reason or ""),
    pytest.mark.asyncio(loop_scope="module"),
]
ALL = {1, 2, 3}


class Cloudlets:
    """The region and its stub; every test starts with all cloudlets in one pool."""

    def __init__(self, directory: Path) -> None:
        self.region, self.stub, self.version = Region(directory, 3), StubController(), 0
        authority = Authority("lab")
        self.stub.issue = lambda name, csr: authority.certify(name, csr, vtep(int(name.removeprefix("c"))))
        for n in ALL:
            self.start_charon(n)

    def directory(self, n: int) -> Path:
        return self.region.directory / f"charon{n}"

    def start_charon(self, n: int) -> None:
        self.region.start(f"charon{n}", f"pe{n}", *charon(self.directory(n)))

    def start_agent(self, n: int) -> None:
        self.region.start_agent(n, f'[ipsec]\nvici = "{self.directory(n)}/charon.vici"\n')

    async def want(self, pool: set[int]) -> None:
        """Put these cloudlets into the pool, and wait until all agents report the desired state."""
        self.version += 1
        await asyncio.to_thread(self.region.rules, self.version, {f"e{n}" for n in pool})
        for n in ALL:
            await self.stub.set(desired(n, pool - {n} if n in pool else set(), self.version))
        for n in ALL:
            await self.well(n, pool - {n} if n in pool else set())

    async def well(self, n: int, remotes: set[int], skip: int = 0) -> None:
        def good(report: Report) -> bool:
            if report.version != self.version or not report.endpoints or report.endpoints[0].problems:
                return False
            return {t.remote for t in report.endpoints[0].tunnels} == {f"e{r}" for r in remotes}

        await self.stub.wait(f"c{n}", good, 20, skip)

    def peers(self, n: int) -> set[str]:
        """Return the cloudlets to which a cloudlet has an SA that carries traffic."""
        text = run("swanctl", "--list-sas", "--uri", f"unix://{self.directory(n)}/charon.vici", check=False)
        return {
            m for m in (f"c{k}" for k in ALL) if f"weft-{m}:" in text and "INSTALLED" in text.split(f"weft-{m}:")[1]
        }

    async def connected(self, pool: set[int]) -> None:
        for n in pool:
            await eventually(f"SAs of c{n}", lambda n=n: self.peers(n) == {f"c{k}" for k in pool - {n}})  # type: ignore[misc]

    @contextmanager
    def plain(self) -> Iterator[list[str]]:
        """Capture clear-text traffic in the core during the block."""
        log = self.region.directory / "tcpdump"
        argv = [
            "ip",
            "netns",
            "exec",
            f"{PREFIX}core",
            "tcpdump",
            "-i",
            "core",
            "-n",
            "-l",
            f"{PLAIN} or udp port 4500",
        ]
        seen: list[str] = []
        with log.open("w") as output:
            listening = subprocess.Popen(argv, stdout=output, stderr=output)
        try:
            wait_for("tcpdump", lambda: "listening" in log.read_text())
            yield seen
        finally:
            listening.send_signal(signal.SIGINT)
            listening.wait()
        lines = log.read_text().splitlines()
        assert any("-encap" in line for line in lines), "nothing of what goes from PE to PE was seen"
        seen += [line for line in lines if "VXLAN" in line or ".4789:" in line]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cloudlets(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cloudlets]:
    made = Cloudlets(tmp_path_factory.mktemp("region"))
    try:
        await made.stub.start()
        for n in ALL:
            made.start_agent(n)
        with made.plain() as plain:
            await made.want(ALL)
            await made.connected(ALL)
        assert plain == []
        yield made
    finally:
        await made.stub.stop()
        made.region.close()


def reaches(n: int, other: int) -> bool:
    return " 0 received" not in run(
        "ping", "-c", "3", "-i", "0.1", "-W", "1", f"10.{other}.0.2", namespace=f"md{n}", check=False
    )


async def test_a_pool_is_encrypted(cloudlets: Cloudlets) -> None:
    with cloudlets.plain() as plain:
        assert all(reaches(n, other) for n in ALL for other in ALL - {n})
    assert plain == []
    for n in ALL:
        guard = run("nft", "list", "table", "inet", "weft-ipsec", namespace=f"pe{n}")
        assert "dport 4789" in guard
        assert f" qlen {QUEUE}\n" in run("ip", "link", "show", "ipsec0", namespace=f"pe{n}")
        for device in ("lan1", *(f"pw1.{other}" for other in ALL - {n})):
            assert " mtu 1350 " in run("ip", "link", "show", device, namespace=f"pe{n}")


async def test_who_leaves_has_no_tunnels(cloudlets: Cloudlets) -> None:
    with cloudlets.plain() as plain:
        await cloudlets.want({2, 3})
        await cloudlets.connected({2, 3})
        await eventually("c1 has none", lambda: cloudlets.peers(1) == set())
        assert not reaches(1, 2) and reaches(2, 3)
        await cloudlets.want(ALL)  # returns only when frames can pass
        assert cloudlets.peers(1) == {"c2", "c3"} and cloudlets.peers(2) == {"c1", "c3"}
        assert reaches(1, 2)
    assert plain == []


async def test_a_killed_charon_is_a_problem_until_it_is_back(cloudlets: Cloudlets) -> None:
    with cloudlets.plain() as plain, pinging("md1", "10.2.0.2") as finish:
        cloudlets.region.stop("charon1", signal.SIGKILL)
        text = f"no IPsec tunnel to c2 ({vtep(2)})"
        await cloudlets.stub.wait("c1", lambda report: text in report.endpoints[0].problems)
        skip = len(cloudlets.stub.reports["c1"])
        cloudlets.start_charon(1)
        await cloudlets.well(1, {2, 3}, skip)
        await eventually("pings", lambda: reaches(1, 2))
        sent, received = finish()
        assert 0 < received < sent
    assert plain == []


async def test_an_agent_that_is_killed_loses_no_ping(cloudlets: Cloudlets) -> None:
    with cloudlets.plain() as plain, pinging("md1", "10.2.0.2") as finish:
        skip = len(cloudlets.stub.reports["c1"])
        cloudlets.region.stop("agent1", signal.SIGKILL)
        await asyncio.sleep(1)
        cloudlets.start_agent(1)
        await cloudlets.well(1, {2, 3}, skip)
        await asyncio.sleep(1)
        sent, received = finish()
    assert plain == [] and sent == received > 100
