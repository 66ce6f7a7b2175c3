"""How much longer a join takes when agents are connected to another replica than the one that makes it, and what it
costs to take over another replica's changes. Real controllers and route servers, PostgreSQL, fake agents: no WAN.

    python -m lab.bench_replicas [--joins N] [--cloudlets N]
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from sqlalchemy import insert

from controller.core.changed_names import ChangedNames
from controller.core.intent import Endpoint
from controller.db import intents
from controller.db.cloudlets import CloudletRow
from controller.db.endpoints import EndpointRow
from controller.db.engine import Database
from controller.db.schema import upgrade
from tests.integration.replica_region import DATABASE, Replica, replica_region
from tests.postgres import Cluster


async def joins(replica: Replica, count: int) -> list[float]:
    """Make joins and return the milliseconds until each was in force, including the agents' confirmation."""
    took = []
    for _ in range(count):
        done = await replica.post("/vcps/blue/members", {"endpoint": "c2-lan"})
        assert done["in_force"], done
        took.append(float(done["duration_ms"]))
        await replica.http.delete("/api/v1/vcps/blue/members/c2-lan")
    return took


async def latency(directory: Path, cluster: Cluster, count: int) -> None:
    async with replica_region(directory, cluster) as region:
        leader, other = await region.leader()
        await leader.agent("c1", 1)
        await leader.agent("c2", 2)
        await leader.post("/vcps", {"name": "blue"})
        await leader.post("/vcps/blue/members", {"endpoint": "c1-lan"})
        await joins(leader, 5)
        _say("agents connected to the replica that makes the join", await joins(leader, count))
        await joins(other, 5)
        _say("agents connected to the other replica", await joins(other, count))
        other.daemon.kill()
        await asyncio.sleep(6)
        _say("one replica alone", await joins(leader, count))


async def reading(url: str, cloudlets: int) -> None:
    database = Database(url)
    await upgrade(database)
    async with database.write() as session:
        for n in range(cloudlets):
            name, vtep = f"c{n}", f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}"
            cloudlet = {"name": name, "pe": "vpls", "vtep": vtep, "state": "active", "labels": {}, "version": 1}
            lan = vars(Endpoint(f"{name}-lan", name, n + 1, 1, f"172.{n >> 8}.{n & 255}.0/24", "")) | {"ports": []}
            await session.execute(insert(CloudletRow).values(cloudlet))
            await session.execute(insert(EndpointRow).values(lan))
    everything, one = list[float](), list[float]()
    for _ in range(7):
        async with database.read() as session:
            started = time.perf_counter()
            whole = (await intents.load(session)).ready()
            everything.append((time.perf_counter() - started) * 1000)
            started = time.perf_counter()
            await intents.take_over(session, whole, ChangedNames(endpoints=frozenset({"c7-lan"})))
            one.append((time.perf_counter() - started) * 1000)
    _say(f"reading everything of {cloudlets} cloudlets", everything)
    _say("taking over one endpoint of them", one)
    await database.close()


def _say(what: str, took: list[float]) -> None:
    print(f"{what}: median {statistics.median(took):.1f} ms, worst {max(took):.1f} ms of {len(took)}", flush=True)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="The cost of several replicas.")
    parser.add_argument("--joins", type=int, default=50)
    parser.add_argument("--cloudlets", type=int, default=1000)
    arguments = parser.parse_args()
    with Cluster() as cluster:
        cluster.create(DATABASE)
        cluster.create("large")
        with tempfile.TemporaryDirectory() as directory:
            asyncio.run(latency(Path(directory), cluster, arguments.joins))
        asyncio.run(reading(cluster.url("large"), arguments.cloudlets))


if __name__ == "__main__":
    main()
