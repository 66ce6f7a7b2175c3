"""Policies for three cloudlets, and calls that send them to a controller."""

from typing import Any

import httpx

from tests.unit.controller.conftest import Controller

HEAD = "apiVersion: weft/v1\n"


def pool(name: str, *members: int) -> str:
    return f"  {name}:\n    members: [{', '.join(f'c{n}-lan' for n in members)}]\n"


ONE = f"{HEAD}vcps:\n{pool('blue', 1, 2)}"
TWO = f"{HEAD}vcps:\n{pool('blue', 1, 2, 3)}"
THREE = f"{HEAD}vcps:\n{pool('blue', 1, 2)}{pool('red', 3)}"
LABELS = f"{HEAD}vcps:\n  turin:\n    select: {{city: turin}}\n"


async def ask(
    controller: Controller, verb: str, text: str = "", tag: str | None = None, **query: Any
) -> httpx.Response:
    headers = {"content-type": "application/yaml"} | ({"If-Match": tag} if tag else {})
    return await controller.http.post(f"/api/v1/policy/{verb}", content=text, headers=headers, params=query)


async def done(controller: Controller, verb: str, text: str = "", **query: Any) -> Any:
    answer = await ask(controller, verb, text, **query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def pools(controller: Controller) -> dict[str, list[str]]:
    return {name: sorted(vcp.members) for name, vcp in sorted(controller.region.intent.vcps.items())}
