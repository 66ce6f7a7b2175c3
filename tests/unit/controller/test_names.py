"""Names of nobody: what is asked for is refused in words, with the name that somebody may have meant."""

import pytest

from tests.unit.controller.conftest import Controller, problem

MACHINE = {"device": "ana", "endpoint": "c1-lan", "driver": "qemu", "image": "debian", "memory": 1 << 29}


async def town(controller: Controller) -> None:
    """Cloudlets c1 and c2 with their LANs, a pool, a device and its VM."""
    for number in (1, 2):
        await controller.cloudlet(f"c{number}", number, tenant=f"tenant{number}")
    await controller.post("/vcps", {"name": "blue"})
    await controller.post("/vcps/blue/members", {"endpoint": "c1-lan"})
    await controller.post("/devices", {"name": "ana", "mac": "02:00:5e:00:00:01"})
    await controller.post("/vms", MACHINE | {"name": "web"})


@pytest.mark.parametrize(
    ("method", "path", "sentence"),
    [
        ("GET", "/cloudlets/c11", "there is no cloudlet 'c11': did you mean 'c1'?"),
        ("POST", "/cloudlets/c11/drain", "there is no cloudlet 'c11': did you mean 'c1'?"),
        ("GET", "/endpoints/c1", "there is no endpoint 'c1': did you mean 'c1-lan'?"),
        ("DELETE", "/endpoints/c1", "there is no endpoint 'c1': did you mean 'c1-lan'?"),
        ("GET", "/addresses/c1/statics", "there is no endpoint 'c1': did you mean 'c1-lan'?"),
        ("GET", "/vcps/bleu", "there is no VCP 'bleu': did you mean 'blue'?"),
        ("DELETE", "/vcps/blue/members/c1", "there is no member of blue 'c1': did you mean 'c1-lan'?"),
        ("GET", "/devices/anna", "there is no device 'anna': did you mean 'ana'?"),
        ("DELETE", "/devices/an", "there is no device 'an': did you mean 'ana'?"),
        ("GET", "/vms/webb", "there is no VM 'webb': did you mean 'web'?"),
        ("POST", "/vms/we/start", "there is no VM 'we': did you mean 'web'?"),
        ("GET", "/vms/nobody", "there is no VM 'nobody'"),
        ("GET", "/moves/nobody", "there is no move 'nobody'"),
    ],
)
async def test_a_path_to_nothing_says_what_is_near(
    controller: Controller, method: str, path: str, sentence: str
) -> None:
    await town(controller)
    answer = await controller.http.request(method, f"/api/v1{path}")
    problem(answer, 404)
    assert answer.json()["detail"] == sentence


@pytest.mark.parametrize(
    ("path", "body", "field", "suggestion"),
    [
        ("/leases", {"endpoint": "c1", "device": "ana", "kind": "md"}, "endpoint", "c1-lan"),
        ("/leases", {"endpoint": "c1-lan", "device": "anna", "kind": "md"}, "device", "ana"),
        ("/reservations", {"endpoint": "c1-lan", "device": "anna"}, "device", "ana"),
        ("/moves", {"vm": "webb", "endpoint": "c2-lan"}, "vm", "web"),
        ("/moves", {"vm": "web", "endpoint": "c2"}, "endpoint", "c2-lan"),
        ("/vms", MACHINE | {"name": "w2", "endpoint": "c2"}, "endpoint", "c2-lan"),
        ("/vms", MACHINE | {"name": "w2", "device": "anna"}, "device", "ana"),
        ("/endpoints", {"name": "x", "cloudlet": "c11", "prefix": "10.9.0.0/24"}, "cloudlet", "c1"),
        ("/vcps/blue/members", {"endpoint": "c2"}, "endpoint", "c2-lan"),
    ],
)
async def test_a_body_that_names_nothing_says_what_is_near(
    controller: Controller, path: str, body: dict[str, object], field: str, suggestion: str
) -> None:
    await town(controller)
    answer = await controller.refused(422, path, body, field, f": did you mean '{suggestion}'?")
    assert answer.json()["errors"][0]["suggestion"] == suggestion
