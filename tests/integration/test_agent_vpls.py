"""Three VPLS cloudlets: real agents, gobgpd, kernel and nft, in namespaces. The controller is a stub (agent_region)."""

import asyncio
import json
import os
import re
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agents.kernel import lan
from controller.wire.reports import Report
from tests.integration import agent_region as region_of
from tests.integration.agent_region import Region, member, monitoring, pinging, run, target, vtep
from tests.integration.stub_controller import StubController, desired

reason = region_of.usable()
pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(reason is not None, reason=reason or ""),
    pytest.mark.asyncio(loop_scope="module"),
]
ALL = {1, 2, 3}


class Cloudlets:
    """The region, the stub and the version counter that all tests share; every test starts with all cloudlets in one
    pool."""

    def __init__(self, region: Region, stub: StubController) -> None:
        self.region, self.stub, self.version = region, stub, 0

    async def want(self, pool: set[int], wait: bool = True, **changes: Any) -> int:
        """Set rule sets and all desired states so that `pool` is joined; wait for reports that agree."""
        self.version += 1
        await asyncio.to_thread(self.region.rules, self.version, {f"e{n}" for n in pool})
        for n in ALL:
            remotes = pool - {n} if n in pool else set()
            await self.stub.set(desired(n, remotes, self.version, **changes))
        if wait:
            for n in ALL:
                await self.settled(n, pool - {n} if n in pool else set())
        return self.version

    async def settled(self, n: int, remotes: set[int], seconds: float = 15.0) -> Report:
        version, names = self.version, {f"e{r}" for r in remotes}

        def good(report: Report) -> bool:
            if report.version != version or not report.endpoints:
                return False
            return {t.remote for t in report.endpoints[0].tunnels} == names and not report.endpoints[0].problems

        return (await self.stub.wait(f"c{n}", good, seconds))[1]

    def device(self, n: int, name: str) -> dict[str, Any] | None:
        links = json.loads(run("ip", "-d", "-j", "link", "show", namespace=f"pe{n}"))
        return next((link for link in links if link["ifname"] == name), None)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cloudlets(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cloudlets]:
    region = Region(tmp_path_factory.mktemp("region"), 3)
    stub = StubController()
    try:
        await stub.start()
        made = Cloudlets(region, stub)
        await made.want(ALL, wait=False)
        for n in ALL:
            region.start_agent(n)
        for n in ALL:
            await made.settled(n, ALL - {n})
        yield made
    finally:
        await stub.stop()
        region.close()


def ping(n: int, address: str, count: int = 3) -> int:
    words = ("ping", "-n", "-c", str(count), "-i", "0.05", "-W", "1", address)
    text = run(*words, namespace=f"md{n}", check=False)
    received = re.search(r"(\d+) received", text)
    return int(received[1]) if received else 0


@pytest.mark.smoke
async def test_labels_devices_and_pings(cloudlets: Cloudlets) -> None:
    """RFC 4761: receive on the own label, send on the remote's label. Devices and LAN are as the design says."""
    await cloudlets.want(ALL)
    report = await cloudlets.settled(1, {2, 3})
    tunnels = {t.ve_id: (t.rx_vni, t.tx_vni, t.vtep, t.device) for t in report.endpoints[0].tunnels}
    assert tunnels == {2: (4098, 4097, vtep(2), "pw1.2"), 3: (4099, 4097, vtep(3), "pw1.3")}
    assert report.endpoints[0].routes == ["10.2.0.0/24", "10.3.0.0/24"]
    assert report.endpoints[0].ports == ["md0"]
    assert {s.name for s in report.speakers} == {"rs1", "rs2"}
    assert report.resident_bytes < 100e6
    device = cloudlets.device(1, "pw1.2")
    assert device is not None and device["linkinfo"]["info_slave_data"]["isolated"] is True
    assert device["mtu"] == 1450 and device["linkinfo"]["info_data"]["learning"] is False
    assert all(ping(a, f"10.{b}.0.2") == 3 for a in ALL for b in ALL if a != b)


async def test_the_kernel_keeps_settings_as_they_are_written(cloudlets: Cloudlets) -> None:
    """A value that the kernel rounds would always look different, and every pass would write it again."""
    await cloudlets.want(ALL)
    (endpoint,) = desired(1, {2, 3}, cloudlets.version).endpoints
    for path, value in lan.sysctls(endpoint).items():
        assert run("cat", f"/proc/sys/{path}", namespace="pe1").strip() == value, path


async def test_a_broadcast_arrives_once_at_each_site(cloudlets: Cloudlets) -> None:
    """Split horizon: pseudowires are isolated from each other, as three sites would otherwise make a storm."""
    await cloudlets.want(ALL)

    def received(n: int) -> int:
        links = json.loads(run("ip", "-s", "-j", "link", "show", "eth0", namespace=f"md{n}"))
        return int(links[0]["stats64"]["rx"]["packets"])

    before = {n: received(n) for n in ALL}
    run("ping", "-c", "1", "-W", "1", "10.1.0.99", namespace="md1", check=False)  # nobody has it: up to 3 ARP requests
    got = {n: received(n) - before[n] for n in ALL}
    assert all(1 <= got[n] <= 3 for n in (2, 3)), got  # one frame for each ARP request sent, not thousands
    assert got[1] <= 1


async def test_an_agent_restart_changes_nothing_and_loses_no_ping(cloudlets: Cloudlets) -> None:
    await cloudlets.want(ALL)
    before = len(cloudlets.stub.reports["c1"])
    with (
        pinging("md1", "10.2.0.2") as finish,
        monitoring("pe1", "ip", "monitor", "link", "address", "route", "rule") as links,
        monitoring("pe1", "bridge", "monitor", "fdb") as entries,
    ):
        cloudlets.region.stop("agent1")
        cloudlets.region.start_agent(1)
        await cloudlets.stub.until(lambda: len(cloudlets.stub.reports["c1"]) > before)
        await asyncio.sleep(6.5)  # beyond the time after which a session without End-of-RIB counts as complete
        assert links() == []
        assert not [line for line in entries() if "00:00:00:00:00:00" in line]
        sent, received = finish()
    assert sent > 200 and received == sent


@pytest.mark.smoke
async def test_leaving_and_joining(cloudlets: Cloudlets) -> None:
    await cloudlets.want(ALL)
    await cloudlets.want({2, 3})
    assert ping(1, "10.2.0.2") == 0 and ping(2, "10.3.0.2") == 3
    assert "10.2.0.0/24" not in run("ip", "route", "show", "table", "all", namespace="pe1")
    assert cloudlets.device(1, "pw1.2") is None and cloudlets.device(2, "pw1.1") is None
    await cloudlets.want(ALL)
    assert ping(1, "10.2.0.2", 1) == 1


async def test_order_of_leaving_is_routes_then_pseudowire(cloudlets: Cloudlets) -> None:
    await cloudlets.want(ALL)
    with monitoring("pe1", "ip", "-o", "monitor", "link", "route") as finish:
        await cloudlets.want({1, 2})
        await cloudlets.want(ALL)
        lines = finish()
    where = {
        "route gone": next(i for i, x in enumerate(lines) if x.startswith("Deleted 10.3.0.0/24 dev lan1")),
        "tunnel gone": next(i for i, x in enumerate(lines) if "Deleted" in x and "pw1.3" in x),
        "tunnel up": next(i for i, x in enumerate(lines) if "pw1.3" in x and "UP" in x and "Deleted" not in x),
        "route there": max(i for i, x in enumerate(lines) if x.startswith("10.3.0.0/24 dev lan1")),
    }
    assert where["route gone"] < where["tunnel gone"] < where["route there"]
    assert where["tunnel up"] < where["route there"]


async def test_bgp_alone_takes_a_pseudowire_away(cloudlets: Cloudlets) -> None:
    """The desired state still lists the remote, but its PE's BGP speaker has died and not come back within its restart
    time."""
    await cloudlets.want(ALL)
    seen, killed = len(cloudlets.stub.reports["c1"]), time.monotonic()
    cloudlets.region.stop("gobgpd3", signal.SIGKILL)
    version = cloudlets.version
    with pinging("md1", "10.3.0.2") as finish:  # the kernel forwards without gobgpd
        await asyncio.sleep(3)
        sent, received = finish()
    assert sent > 100 and received == sent

    def gone(report: Report) -> bool:
        names = {t.remote for t in report.endpoints[0].tunnels}
        return report.version == version and names == {"e2"} and "10.3.0.0/24" not in report.endpoints[0].routes

    await cloudlets.stub.wait("c1", gone, 40, skip=seen)
    assert time.monotonic() - killed > 15
    assert cloudlets.device(3, "pw1.1") is not None  # c3 itself keeps what it has while its gobgpd is away
    seen = len(cloudlets.stub.reports["c1"])
    cloudlets.region.start_gobgpd(3)
    await cloudlets.stub.wait("c1", lambda r: len(r.endpoints[0].tunnels) == 2, 20, skip=seen)
    assert ping(1, "10.3.0.2") == 3


async def test_killing_one_route_server_loses_no_ping(cloudlets: Cloudlets) -> None:
    await cloudlets.want(ALL)
    with pinging("md1", "10.2.0.2") as finish:
        await asyncio.sleep(0.3)
        cloudlets.region.stop("rs1", signal.SIGKILL)
        await asyncio.sleep(1.5)
        sent, received = finish()
    assert sent > 50 and received == sent
    cloudlets.region.start_route_server(1)
    version = cloudlets.version
    for n in ALL:
        await cloudlets.stub.wait(
            f"c{n}", lambda r: r.version == version and all(s.state == "established" for s in r.speakers), 20
        )


async def test_without_the_controller(cloudlets: Cloudlets) -> None:
    """The controller goes away, an agent restarts meanwhile, and the controller returns: nothing is lost, and the
    stream resumes."""
    version = await cloudlets.want(ALL)
    with pinging("md1", "10.2.0.2") as finish:
        await cloudlets.stub.stop()
        cloudlets.region.stop("agent1", signal.SIGKILL)
        cloudlets.region.start_agent(1)
        await asyncio.sleep(2)
        await cloudlets.stub.start()
        before = len(cloudlets.stub.requests)
        requests = cloudlets.stub.requests
        await cloudlets.stub.until(lambda: len({cloudlet for cloudlet, _ in requests[before:]}) == 3)
        sent, received = finish()
    assert {last for _, last in cloudlets.stub.requests[before:]} == {str(version)}
    assert sent > 80 and received == sent
    await cloudlets.want(ALL)


async def test_label_blocks_grow(cloudlets: Cloudlets) -> None:
    """VE IDs in two blocks: each side announces a second block (RFC 4761 section 3.2.2)."""
    await cloudlets.want(ALL, ve_ids={3: 70})
    report = await cloudlets.settled(1, {2, 3})
    far = next(t for t in report.endpoints[0].tunnels if t.remote == "e3")
    assert (far.ve_id, far.rx_vni, far.tx_vni, far.device) == (70, (1 << 12) | 70, (1 << 12) | 1, "pw1.70")
    assert ping(1, "10.3.0.2") == 3 and ping(2, "10.3.0.2") == 3
    await cloudlets.want(ALL)


async def test_a_port_that_appears_later_and_repairs(cloudlets: Cloudlets) -> None:
    await cloudlets.want(ALL)
    pe = ("ip", "-n", "weft-agv-pe1")
    run(*pe, "link", "add", "md7", "type", "veth", "peer", "name", "spare")
    await cloudlets.stub.wait("c1", lambda r: r.endpoints[0].ports == ["md0", "md7"])
    run(*pe, "link", "del", "md7")
    damages = (
        ("link", "del", "pw1.2"),
        ("route", "del", "10.2.0.0/24", "table", "5001"),
        ("addr", "del", "10.1.0.1/24", "dev", "lan1"),
        ("link", "set", "pw1.2", "nomaster"),
        ("link", "set", "pw1.2", "down"),
        ("rule", "del", "priority", "5001", "iif", "lan1"),
    )
    for damage in damages:
        run(*pe, *damage)
        await asyncio.sleep(0.4)
        assert ping(1, "10.2.0.2") == 3, damage
        assert run(*pe, "rule").count("lookup 5001") == 2
    run(
        "bridge", "-n", "weft-agv-pe1", "fdb", "del", "00:00:00:00:00:00", "dev", "pw1.2", "dst", vtep(2), "vni", "4097"
    )
    await asyncio.sleep(0.4)
    assert ping(1, "10.2.0.2") == 3


async def test_two_lans_that_reach_one_remote(cloudlets: Cloudlets) -> None:
    """Cloudlet 1 has two endpoints in different pools, and endpoint 2 is in both: each LAN has its own path to it."""
    pe, version = ("ip", "-n", "weft-agv-pe1"), cloudlets.version + 1
    run(*pe, "link", "add", "xd0", "type", "veth", "peer", "name", "eth9", "netns", "weft-agv-md1")
    try:
        cloudlets.version = version
        cloudlets.region.rules(version, {"e1", "e2"}, {"e1b", "e2"}, further=(member("e1b", 1, 11),))
        one, two = desired(1, {2}, version), desired(2, {1}, version)
        second = one.endpoints[0].model_copy(
            update={"name": "e1b", "index": 2, "prefix": "10.11.0.0/24", "gateway": "10.11.0.1", "ports": ["xd*"],
                    "ve_id": 11, "rd": target(11), "rt": target(11)}
        )  # fmt: skip
        back = two.endpoints[0].remotes[0].model_copy(update={"endpoint": "e1b", "prefix": "10.11.0.0/24", "ve_id": 11})
        await cloudlets.stub.set(one.model_copy(update={"endpoints": [*one.endpoints, second]}))
        remotes = [*two.endpoints[0].remotes, back]
        await cloudlets.stub.set(
            two.model_copy(update={"endpoints": [two.endpoints[0].model_copy(update={"remotes": remotes})]})
        )
        await cloudlets.stub.wait(
            "c1", lambda r: r.version == version and [len(e.tunnels) for e in r.endpoints] == [1, 1]
        )
        await cloudlets.stub.wait("c2", lambda r: r.version == version and len(r.endpoints[0].tunnels) == 2)
        md = ("ip", "-n", "weft-agv-md1")
        run(*md, "addr", "add", "10.11.0.2/24", "dev", "eth9")
        run(*md, "link", "set", "eth9", "mtu", "1450", "up")
        run(*md, "rule", "add", "from", "10.11.0.2", "lookup", "11")
        run(*md, "route", "add", "default", "via", "10.11.0.1", "table", "11")
        text = run(
            "ping",
            "-n",
            "-c",
            "3",
            "-i",
            "0.05",
            "-W",
            "1",
            "-I",
            "10.11.0.2",
            "10.2.0.2",
            namespace="md1",
            check=False,
        )
        assert "3 received" in text
        assert ping(1, "10.2.0.2") == 3
        assert "1 received" in run("ping", "-c", "1", "-W", "1", "10.11.0.1", namespace="md2", check=False)
    finally:
        run(*pe, "link", "del", "xd0", check=False)
        await cloudlets.want(ALL)


async def test_an_endpoint_that_goes_leaves_nothing(cloudlets: Cloudlets) -> None:
    await cloudlets.want(ALL)
    cloudlets.version += 1
    empty = desired(3, set(), cloudlets.version).model_copy(update={"endpoints": []})
    version = cloudlets.version
    await cloudlets.stub.set(empty)
    await cloudlets.stub.wait("c3", lambda r: r.version == version and not r.endpoints)
    assert json.loads(run("ip", "-j", "link", "show", "type", "bridge", namespace="pe3")) == []
    assert json.loads(run("ip", "-j", "link", "show", "type", "vxlan", namespace="pe3")) == []
    assert "proto 87" not in run("ip", "route", "show", "table", "all", namespace="pe3")
    assert "lookup 5001" not in run("ip", "rule", namespace="pe3")
    assert run("nft", "list", "tables", namespace="pe3") == ""
    await cloudlets.want(ALL)
    assert ping(3, "10.1.0.2") == 3


async def test_idle_costs_little(cloudlets: Cloudlets) -> None:
    await cloudlets.want(ALL)
    await asyncio.sleep(1)
    process = cloudlets.region.processes["agent2"]

    def ticks() -> int:
        pid = int(run("pgrep", "-P", str(process.pid), check=False) or process.pid)
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    before = ticks()
    await asyncio.sleep(5)
    assert ticks() - before <= 5  # hundredths of a second in five seconds: 1 %


async def test_a_token_that_is_refused_is_said(cloudlets: Cloudlets, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("stolen\n")
    config = tmp_path / "agent.toml"
    config.write_text(
        f'cloudlet = "c9"\ncontroller = "http://{region_of.STUB[0]}:{region_of.STUB[1]}"\n'
        f'token_file = "{tmp_path}/token"\nstate_dir = "{tmp_path}/state"\n'
    )
    command = [
        "ip",
        "netns",
        "exec",
        "weft-agv-pe1",
        sys.executable,
        "-m",
        "agents.main",
        "run",
        "--config",
        str(config),
    ]
    environment = os.environ | {"PYTHONPATH": f"{region_of.ROOT}:{region_of.ROOT / 'build/gobgpapi'}"}
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE, env=environment)
    text = (await process.communicate())[1].decode()
    assert process.returncode == 1
    assert "the controller refused the token for cloudlet c9: the token was used before" in text
    assert "Traceback" not in text and "stolen" not in text
