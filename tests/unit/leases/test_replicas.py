"""No two clients hold an address if two controllers over one PostgreSQL take reports, claims, delegations and grants at
the same moment, if agents send to one what they should have sent to the other, and if one controller ends in the
middle.

The requests of a round follow from its seed; their order in the database does not."""

import pytest

from tests.unit.leases.rounds import Rounds

pytestmark = pytest.mark.slow

ROUNDS = 25
SEEDS = [*range(6), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(6, 60))]


async def stormy(rounds: Rounds, *, agents: bool) -> None:
    try:
        await rounds.begin(agents=agents)
        for _ in range(ROUNDS):
            await rounds.round()
        await rounds.settle()
    finally:
        await rounds.close()
    assert rounds.taken >= ROUNDS // 2 and rounds.granted > 0


@pytest.mark.parametrize("agents", [True, False], ids=["agents have blocks", "nobody has any"])
@pytest.mark.parametrize("seed", SEEDS)
async def test_an_address_is_one_clients(url: str, seed: int, monkeypatch: pytest.MonkeyPatch, *, agents: bool) -> None:
    print("seed", seed)
    await stormy(Rounds(url, seed, monkeypatch, ["killed", "power", "disk"]), agents=agents)
