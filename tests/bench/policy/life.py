"""Devices of the lived-in region that are moving, beside those that `tests.simulate.world` gives each LAN."""

from datetime import timedelta

from controller.core.blocks import SIZE
from controller.core.clock import now
from controller.db.engine import Database
from controller.db.leases import LeaseRow
from controller.db.pairs import PairRow
from tests.bench.policy.large import at, lan
from tests.simulate.towns import DEVICES

WALKERS = 50


async def walk(url: str, cloudlets: int) -> None:
    """Reserve a pair at the next LAN for the first device of each of the first LANs; the device's VM is there
    already."""
    database, here = Database(url), now()
    tomorrow = here + timedelta(days=1)
    async with database.write() as session:
        for n in range(min(WALKERS, cloudlets - 1)):
            whose = {"endpoint": lan(n + 1), "device": f"d{n * DEVICES + 1:07}"}
            where = {"number": DEVICES, "block": DEVICES // SIZE, "epoch": 1, "used_at": here, "held_until": tomorrow}
            session.add(pair := PairRow(**whose, **where))
            await session.flush()
            times = {"granted_at": here, "expires_at": tomorrow}
            session.add(LeaseRow(**whose, **times, pair=pair.id, kind="vm", address=at(n + 1, 2 * DEVICES + 3)))
    await database.close()
