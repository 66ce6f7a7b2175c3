"""A plan shows the filters that PEs would get."""

import pytest

from controller.api.filters import TOLD, filtered
from controller.core.filters import differences
from controller.core.intent import Cloudlet, Endpoint, Intent, Vcp
from controller.core.policy.model import AccessRule, Action, Rules
from controller.wire.flavours import Flavour
from tests.unit.controller.conftest import Controller

HEAD = "apiVersion: weft/v1\nvcps: {blue: {members: [c1-lan, c2-lan]}}\n"
CLOSED = f"{HEAD}access: {{blue: [{{name: no-ssh, action: drop, to: [c2-lan], protocols: [tcp], ports: [22]}}]}}\n"


@pytest.fixture
async def region(controller: Controller) -> Controller:
    for number in (1, 2):
        await controller.cloudlet(f"c{number}", number)
    return controller


async def ask(region: Controller, verb: str, text: str) -> list[dict[str, object]]:
    headers = {"content-type": "application/yaml"}
    answer = await region.http.post(f"/api/v1/policy/{verb}", content=text, headers=headers)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, object]] = answer.json().get("filters", [])
    return found


async def test_rules_are_told_as_what_pes_are_given_and_what_is_taken_from_them(region: Controller) -> None:
    said = "from 10.1.0.0/24 to 10.2.0.0/24, protocol 6, port 22: drop"
    assert await ask(region, "plan", HEAD) == []
    assert await ask(region, "plan", CLOSED) == [
        {"endpoint": "c2-lan", "new": 1, "gone": 0, "specifications": [f"+ {said}"]}
    ]
    await ask(region, "apply", CLOSED)
    assert await ask(region, "plan", CLOSED) == []
    assert await ask(region, "plan", HEAD) == [
        {"endpoint": "c2-lan", "new": 0, "gone": 1, "specifications": [f"- {said}"]}
    ]


def test_of_very_many_the_first_are_told() -> None:
    names = [f"e{n}" for n in range(20)]
    intent = Intent(
        cloudlets={n: Cloudlet(n, Flavour.VPLS, f"192.0.2.{i}") for i, n in enumerate(names)},
        endpoints={n: Endpoint(n, n, i + 1, 1, f"10.{i}.0.0/24", "") for i, n in enumerate(names)},
        vcps={"blue": Vcp("blue", members=frozenset(names))},
    )
    closed = intent.but(policy=Rules(access={"blue": (AccessRule("no", Action.DROP),)}))
    found = filtered(differences(intent, closed))
    assert sum(one.new for one in found) == 20 * 19 and len(found) == 20
    assert sum(len(one.specifications) for one in found) == TOLD
