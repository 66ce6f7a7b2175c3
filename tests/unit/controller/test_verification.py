"""`POST /doctor/probes`: which pairs are asked for, from which side, and what answers mean. The agents are fakes."""

import asyncio
from typing import Any

import pytest

from controller.core import verification
from controller.wire.probes import ProbeResult, ProbeTarget
from lab.patience import eventually
from tests.kernels import kernel
from tests.unit.controller.conftest import Controller, problem
from tests.unit.controller.fake_agent import FakeAgent, found
from tests.unit.controller.policies import HEAD, done

UNDERSTANDS = ["desired", "probes"]


async def able(agent: FakeAgent, **changes: Any) -> None:
    """Report that the agent sends probes on demand."""
    report = kernel(agent.documents[-1]).model_copy(update={"understands": UNDERSTANDS, "agent_version": "1.4.0"})
    assert (await agent.report(report.model_copy(update=changes))).status_code == 204


async def town(controller: Controller, **more: Any) -> list[FakeAgent]:
    """Return the agents of three cloudlets: c1 and c2 share a pool, c3 is in none."""
    agents = [await controller.agent(f"c{n}", n, prefix6=f"2001:db8:{n}::/64", **more) for n in (1, 2, 3)]
    for agent in agents:
        agent.understands = UNDERSTANDS
    await done(controller, "apply", f"{HEAD}vcps:\n  blue:\n    members: [c1-lan, c2-lan]\n")
    for agent in agents:
        await able(agent)
    return agents


def lines(answer: Any) -> list[tuple[str, str, str, str, str]]:
    return sorted((p["near"], p["far"], p["family"], p["expected"], p["observed"]) for p in answer["pairs"])


async def ask(controller: Controller, **body: Any) -> Any:
    return await controller.post("/doctor/probes", body, 200)


async def test_everything_is_as_it_should_be(controller: Controller) -> None:
    await town(controller)
    answer = await ask(controller)
    assert answer["ok"] and not answer["unasked"] and not answer["unable"]
    assert (answer["passing"], answer["filtered"], answer["forbidden"], answer["forbidden_of"]) == (2, 0, 4, 2)
    assert [(p["rtt_ms"], p["mtu"]) for p in answer["pairs"] if p["expected"] == "passes"] == [(2.0, 1450)] * 2
    found = {tuple(sorted((p["near"], p["far"]))): p["observed"] for p in answer["pairs"]}
    assert found == {("c1-lan", "c2-lan"): "passes", ("c1-lan", "c3-lan"): "silent", ("c2-lan", "c3-lan"): "silent"}


async def test_no_more_is_sent_than_was_asked_for(controller: Controller) -> None:
    agents = await town(controller)
    answer = await ask(controller, a="c1", b="c3-lan")
    assert lines(answer) == [
        ("c1-lan", "c3-lan", "ipv4", "silent", "silent"),
        ("c1-lan", "c3-lan", "ipv6", "silent", "silent"),
    ]
    [request] = [one for agent in agents for one in agent.probed]
    assert request.targets[0] == ProbeTarget(endpoint="c1-lan", remote="c3-lan", address="10.3.0.1", mtu=None)
    assert (await ask(controller, sample=0))["forbidden"] == 0
    agents[0].probed.clear()
    await agents[0].report(kernel(agents[0].documents[-1]).model_copy(update={"understands": UNDERSTANDS}))
    assert not agents[0].probed, "a request that is over is not sent again"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"resolved_ms": None, "echo_ms": None, "tried": None, "mtu": None}, "answers no ARP: nothing passes"),
        ({"echo_ms": None, "tried": None, "mtu": None}, "answers ARP, and no ICMP echo"),
        ({"mtu": 1400}, "packets of 1450 bytes do not pass; the largest that passes has 1400"),
        ({"mtu": None}, "packets of 1450 bytes do not pass; none of 576 passes"),
    ],
)
async def test_a_tunnel_that_does_not_pass_is_named(controller: Controller, changes: dict[str, Any], said: str) -> None:
    agents = await town(controller)

    def broken(target: ProbeTarget) -> ProbeResult:
        there = found(target)
        return there.model_copy(update=changes) if target.mtu is not None and ":" not in target.address else there

    for agent in agents:
        agent.finds = broken
    answer = await ask(controller, a="c1", b="c2")
    assert not answer["ok"]
    [differing] = [pair for pair in answer["pairs"] if pair["differs"]]
    assert differing == answer["pairs"][0] and said in differing["differs"] and differing["family"] == "ipv4"


async def test_causes_are_the_doctor_s_sentences(controller: Controller) -> None:
    agents = await town(controller)
    for agent in agents:
        agent.finds = lambda target: ProbeResult(endpoint=target.endpoint, remote=target.remote, address=target.address)
    report = kernel(agents[0].documents[-1])
    await able(agents[0], endpoints=[report.endpoints[0].model_copy(update={"tunnels": []})])
    answer = await ask(controller, a="c1", b="c2")
    assert any("c1-lan has no tunnel to c2-lan at c2" in cause for cause in answer["pairs"][0]["causes"])


async def test_a_leak_is_named(controller: Controller) -> None:
    agents = await town(controller)

    def leaks(target: ProbeTarget) -> ProbeResult:
        return found(target.model_copy(update={"mtu": 1450})).model_copy(update={"echo_ms": None, "mtu": None})

    agents[0].finds = agents[2].finds = leaks
    answer = await ask(controller, a="c1", b="c3")
    assert not answer["ok"]
    assert "answers, and must not: they share no pool" in answer["pairs"][0]["differs"]


async def test_access_rules_filter(controller: Controller) -> None:
    agents = await town(controller)
    access = "access:\n  blue:\n    - {name: quiet, action: drop, to: [c2-lan], protocols: [icmp]}\n"
    await done(controller, "apply", f"{HEAD}vcps:\n  blue:\n    members: [c1-lan, c2-lan]\n{access}")
    answer = await ask(controller, a="c1", b="c2")
    assert not answer["ok"] and "an echo passes, and must not: rule 'quiet' of blue" in answer["pairs"][0]["differs"]

    def filtered(target: ProbeTarget) -> ProbeResult:
        return found(target).model_copy(update={"echo_ms": None, "tried": None, "mtu": None})

    for agent in agents:
        agent.finds = filtered
    answer = await ask(controller, a="c1", b="c2")
    assert answer["ok"] and answer["filtered"] == 2 and "drops ICMP from" in answer["pairs"][0]["why"]
    other = access.replace("icmp", "tcp")
    await done(controller, "apply", f"{HEAD}vcps:\n  blue:\n    members: [c1-lan, c2-lan]\n{other}")
    assert (await ask(controller, a="c1", b="c2"))["pairs"][0]["expected"] == "passes"


async def test_pes_that_cannot_be_asked_are_named(controller: Controller) -> None:
    agents = await town(controller)
    await able(agents[0], understands=["desired"])
    await controller.cloudlet("c4", 4)
    await controller.post("/cloudlets", {"name": "c5", "pe": "vpls", "vtep": "192.0.2.5", "unmanaged": True})
    await controller.post("/endpoints", {"name": "c5-lan", "cloudlet": "c5", "prefix": "10.5.0.0/24"})
    answer = await ask(controller)
    assert answer["unable"] == {
        "c1": "its agent's release 1.4.0 sends no probes on demand",
        "c4": "its agent is not connected",
        "c5": "its PE has no agent",
    }
    unasked = {(one["near"], one["far"]): one["reason"] for one in answer["unasked"]}
    assert unasked.keys() <= {("c1-lan", "c4-lan"), ("c1-lan", "c5-lan"), ("c4-lan", "c5-lan")}
    assert not agents[0].probed and {pair["near"] for pair in answer["pairs"]} == {"c2-lan", "c3-lan"}
    assert answer["ok"], "what cannot be asked does not differ"
    answer = await ask(controller, a="c4", b="c5")
    assert not answer["ok"] and "its PE has no agent" in answer["unasked"][0]["reason"]


async def test_an_agent_that_sends_no_results(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    agents = await town(controller)
    monkeypatch.setattr("controller.api.verification.patience", lambda _: 0.2)
    agents[0].finds = agents[1].finds = None
    answer = await ask(controller, a="c1", b="c2")
    assert not answer["ok"] and not answer["pairs"]
    assert {one["reason"] for one in answer["unasked"]} == {"the agent of c1 sent no result in time"}
    agents[0].finds = lambda target: found(target).model_copy(update={"problem": "lan1 cannot be used: gone"})
    answer = await ask(controller, a="c1", b="c2")
    assert {one["reason"] for one in answer["unasked"]} == {"c1: lan1 cannot be used: gone"}


async def test_one_verification_at_a_time(controller: Controller) -> None:
    agents = await town(controller)
    agents[0].finds = agents[1].finds = None
    first = asyncio.create_task(ask(controller, a="c1", b="c2"))
    await eventually(lambda: agents[0].probed)
    answer = await controller.http.post("/api/v1/doctor/probes", json={"a": "c1", "b": "c2"})
    problem(answer, 409, reason="another verification is under way")
    for target in agents[0].probed[0].targets:
        body = {"cloudlet": "c1", "number": agents[0].probed[0].number, "results": [found(target).model_dump()]}
        await controller.http.post("/api/v1/agent/probes", json=body, headers=agents[0].headers)
    assert (await first)["ok"]


async def test_names_are_checked(controller: Controller) -> None:
    await town(controller)
    await controller.post("/cloudlets", {"name": "c9", "pe": "vpls", "vtep": "192.0.2.9"})
    for body, status, field in (
        ({"a": "c1"}, 422, "b"),
        ({"a": "c1", "b": "c8"}, 422, "b"),
        ({"a": "c9", "b": "c1"}, 409, "a"),
        ({"a": "c1", "b": "c1-lan"}, 409, None),
        ({"sample": -1}, 422, "sample"),
    ):
        problem(await controller.http.post("/api/v1/doctor/probes", json=body), status, field)


async def test_results_of_others_do_not_count(controller: Controller) -> None:
    agents = await town(controller)
    body = {"cloudlet": "c2", "number": 1, "results": []}
    answer = await controller.http.post("/api/v1/agent/probes", json=body, headers=agents[0].headers)
    problem(answer, 403, "cloudlet")
    stray = {"endpoint": "c1-lan", "remote": "c3-lan", "address": "10.3.0.1", "resolved_ms": 1.0}
    answer = await controller.http.post(
        "/api/v1/agent/probes", json={"cloudlet": "c1", "number": 1, "results": [stray]}, headers=agents[0].headers
    )
    assert answer.status_code == 204


async def test_a_region_that_is_too_large(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    await town(controller)
    monkeypatch.setattr(verification, "MOST_PAIRS", 0)
    problem(await controller.http.post("/api/v1/doctor/probes", json={}), 422, "a", "name two cloudlets")
    monkeypatch.setattr(verification, "MOST_PAIRS", 10)
    monkeypatch.setattr(verification, "MOST_TARGETS", 1)
    answer = await ask(controller)
    assert answer["unasked"] and "already has" in answer["unasked"][0]["reason"]


async def test_a_pool_is_probed_by_itself(controller: Controller) -> None:
    await town(controller)
    await done(
        controller, "apply", f"{HEAD}vcps:\n  blue: {{members: [c1-lan, c2-lan]}}\n  red: {{members: [c3-lan]}}\n"
    )
    answer = await ask(controller, vcp="blue")
    assert answer["ok"] and (answer["passing"], answer["forbidden"], answer["forbidden_of"]) == (2, 0, 0)
    assert {(p["near"], p["far"]) for p in answer["pairs"]} <= {("c1-lan", "c2-lan"), ("c2-lan", "c1-lan")}


@pytest.mark.parametrize(
    ("body", "status", "field", "said"),
    [
        ({"vcp": "bleu"}, 422, "vcp", "blue"),
        ({"vcp": "red"}, 409, "vcp", "red has no two members in force at different cloudlets"),
        ({"vcp": "blue", "a": "c1", "b": "c2"}, 422, "vcp", "not both"),
    ],
)
async def test_a_pool_that_cannot_be_probed(
    controller: Controller, body: dict[str, str], status: int, field: str, said: str
) -> None:
    await town(controller)
    await done(
        controller, "apply", f"{HEAD}vcps:\n  blue: {{members: [c1-lan, c2-lan]}}\n  red: {{members: [c3-lan]}}\n"
    )
    answer = await controller.http.post("/api/v1/doctor/probes", json=body)
    problem(answer, status, field, said)
