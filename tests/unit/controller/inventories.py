"""Inventories, and calls that send them to a controller."""

from typing import Any

import httpx

from tests.unit.controller.conftest import Controller

HEAD = "apiVersion: weft/inventory/v1\n"
BOTH = f"""{HEAD}cloudlets:
  c1: {{pe: vpls, vtep: 192.0.2.1}}
  c2: {{pe: vpls, vtep: 192.0.2.2}}
endpoints:
  c1-lan: {{cloudlet: c1, prefix: 10.1.0.0/24}}
  c2-lan: {{cloudlet: c2, prefix: 10.2.0.0/24}}
"""
ALL = f"""{BOTH}devices:
  m1: {{mac: '02:00:5e:00:00:01'}}
vms:
  web: {{device: m1, endpoint: c1-lan, image: debian, memory: 512M}}
"""


async def ask(
    controller: Controller, verb: str, text: str = "", tag: str | None = None, **query: Any
) -> httpx.Response:
    headers = {"content-type": "application/yaml"} | ({"If-Match": tag} if tag else {})
    return await controller.http.post(f"/api/v1/inventory/{verb}", content=text, headers=headers, params=query)


async def done(controller: Controller, verb: str, text: str = "", **query: Any) -> Any:
    answer = await ask(controller, verb, text, **query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def said(answer: Any) -> list[str]:
    """Return the steps of an answer in words."""
    return [f"{step['action']} {step['section']} {step['name']}" for step in answer["plan"]["steps"]]
