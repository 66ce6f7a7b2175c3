"""A region of a thousand cloudlets, for figures of the web UI: real in the controller's database, without any host."""

from controller.core.clock import now
from tests.unit.controller.conftest import Controller
from tests.unit.controller.policies import HEAD

CLOUDLETS, POOLS, ROUTES, EVENTS = 1000, 50, 100_000, 2000


def inventory() -> str:
    """Return the inventory: places between Lisbon and Warsaw, one LAN each."""
    cloudlets, endpoints = [], []
    for number in range(CLOUDLETS):
        name, row, column = f"edge-{number:04d}", number // 40, number % 40
        place = f"latitude: {38 + row * 0.6:.2f}, longitude: {-9 + column * 0.75:.2f}"
        vtep = f"198.51.{number // 250}.{number % 250 + 1}"
        labels = f"labels: {{pool: p{number % POOLS:02d}, city: town-{number % 40}}}"
        cloudlets.append(f"  {name}: {{pe: vpls, vtep: {vtep}, unmanaged: true, {place}, {labels}}}")
        endpoints.append(f"  {name}-lan: {{cloudlet: {name}, prefix: 10.{100 + number // 250}.{number % 250}.0/24}}")
    text = ["apiVersion: weft/inventory/v1", "cloudlets:", *cloudlets, "endpoints:", *endpoints]
    return "\n".join(text) + "\n"


def policy() -> str:
    """Return the policy: each LAN is in the pool of its label."""
    pools = [f"  p{number:02d}: {{select: {{pool: p{number:02d}}}}}" for number in range(POOLS)]
    return HEAD + "vcps:\n" + "\n".join(pools) + "\n"


async def fill(controller: Controller) -> None:
    """Make the region; its route server is in `large_route_server.py`."""
    for noun, text in (("inventory", inventory()), ("policy", policy())):
        headers, params = {"content-type": "application/yaml"}, {"filename": f"{noun}.yaml"}
        answer = await controller.http.post(
            f"/api/v1/{noun}/apply", content=text, headers=headers, params=params, timeout=300
        )
        assert answer.status_code == 200, answer.text
    for number in range(EVENTS):
        controller.region.runtime.event_log.note("device-seen", f"m{number}", f"device m{number} was seen, {now():%T}")
