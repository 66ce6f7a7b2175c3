"""One lease for both families: the plan sees one client, and the last family to use the lease ends it."""

import pytest

from agents.dhcp.dual_stack import DualStack
from controller.wire.leases import LeaseGrant, LeaseRelease, LeaseRequest

PHONE, TABLET = "02:00:5e:00:00:01", "02:00:5e:00:00:02"


class Plan:
    """A plan that grants everything for a minute, and records the requests."""

    def __init__(self) -> None:
        self.asked: list[LeaseRequest] = []
        self.released: list[LeaseRelease] = []
        self.declined: list[LeaseRelease] = []

    async def grant(self, request: LeaseRequest) -> LeaseGrant:
        self.asked.append(request)
        return LeaseGrant(address="10.1.0.2", prefix_length=24, gateway="10.1.0.1", kind="md", device="m1", seconds=60)

    async def offer(self, request: LeaseRequest) -> LeaseGrant:
        return await self.grant(request)

    async def release(self, release: LeaseRelease) -> None:
        self.released.append(release)

    async def decline(self, release: LeaseRelease) -> None:
        self.declined.append(release)


class Lan:
    def __init__(self) -> None:
        self.plan, self.now = Plan(), 0.0
        self.families = DualStack(self.plan, lambda: self.now)
        self.four, self.six = self.families.of(4), self.families.of(6)


@pytest.fixture
def lan() -> Lan:
    return Lan()


def request(mac: str = PHONE, client_id: str | None = None) -> LeaseRequest:
    return LeaseRequest(endpoint="e1", mac=mac, client_id=client_id)


def release(mac: str = PHONE, client_id: str | None = None) -> LeaseRelease:
    return LeaseRelease(endpoint="e1", address="10.1.0.2", mac=mac, client_id=client_id)


async def test_who_used_a_client_id_is_known_by_its_mac(lan: Lan) -> None:
    await lan.six.grant(request())
    await lan.four.grant(request(client_id="01aa"))
    await lan.six.grant(request())
    await lan.six.grant(request(TABLET))
    assert [asked.client_id for asked in lan.plan.asked] == [None, "01aa", "01aa", None]
    await lan.four.release(release(client_id="01aa"))
    await lan.six.release(release())
    assert [gone.client_id for gone in lan.plan.released] == ["01aa"]


@pytest.mark.parametrize(("first", "last"), [(4, 6), (6, 4)])
async def test_the_last_family_ends_the_lease(lan: Lan, first: int, last: int) -> None:
    sources = {4: lan.four, 6: lan.six}
    for source in sources.values():
        await source.grant(request())
    await sources[first].release(release())
    assert not lan.plan.released
    await sources[last].release(release())
    assert len(lan.plan.released) == 1


async def test_a_family_that_let_its_time_pass_does_not_count(lan: Lan) -> None:
    await lan.four.grant(request())
    lan.now = 59
    await lan.six.grant(request())
    lan.now = 60
    await lan.six.release(release())
    assert len(lan.plan.released) == 1


async def test_what_nobody_uses_is_given_back_at_once(lan: Lan) -> None:
    await lan.six.release(release())
    assert len(lan.plan.released) == 1


async def test_memory_is_bounded(lan: Lan) -> None:
    for number in range(5000):
        await lan.four.grant(request(f"02:00:5e:01:{number >> 8:02x}:{number & 255:02x}", f"{number:04x}"))
    assert len(lan.families._used) <= 4096 and len(lan.families._client_ids) <= 4096
    lan.now = 60
    await lan.four.grant(request())
    assert len(lan.families._used) == 1
