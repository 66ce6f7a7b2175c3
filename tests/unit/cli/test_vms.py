"""The output of `weft vm`, `weft device` and a prediction."""

from typing import Any

import pytest

from tests.unit.cli.answers import ESTIMATE, FORECAST, PREDICTION, VM
from tests.unit.cli.conftest import Controller, Weft


def test_where_a_device_is(controller: Controller, weft: Weft) -> None:
    place = {"endpoint": "c1-lan", "since": None, "seen_endpoint": "c2-lan", "turns": 1.5, "how": "packet"}
    controller.answers["GET", "/api/v1/devices/ana"] = {"name": "ana", "place": place}
    out = weft("device", "where", "ana").out
    assert all(text in out for text in ("ana", "c1-lan", "c2-lan", "1.5", "packet")), out
    assert weft("device", "where", "ana", "-o", "json").json == {"device": "ana", **place}
    controller.answers["GET", "/api/v1/devices/ana"] = {"name": "ana", "place": None}
    assert weft("device", "where", "ana").out == "ana was never seen\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, ["memory to copy 190.7 MiB measured by its driver", "x 1.20: image 1.50 by 9 moves, link 0.80 by 4"]),
        ({}, ["model: 15 s in 3 rounds, the VM slowed down by 20%; 128 MiB on the wire", "corrected by history: 18 s"]),
        ({}, ["off by 8% in the median, 20% in nine of ten", "it would move: the move takes 18 s, and a new"]),
        ({"error": None}, ["no past prediction to judge this one by"]),
        ({"forecast": None, "seconds": None}, ["Nobody can predict it"]),
        ({"forecast": FORECAST | {"converges": False, "seconds": None}, "seconds": None}, ["The copy would never end"]),
    ],
)
def test_a_prediction_shows_its_figures(
    controller: Controller, weft: Weft, change: dict[str, Any], said: list[str]
) -> None:
    found = PREDICTION | {"estimate": ESTIMATE | change}
    controller.answers["GET", "/api/v1/moves/prediction"] = found
    result = weft("move", "predict", "web", "c2-lan")
    assert dict(controller.last.url.params) == {"vm": "web", "endpoint": "c2-lan"}
    assert all(words in " ".join(result.out.split()) for words in said), result.out


def test_a_vm_in_full(controller: Controller, weft: Weft) -> None:
    controller.answers["GET", "/api/v1/vms/web"] = VM
    shown = " ".join(weft("vm", "show", "web").out.split())
    assert "memory 512 MiB" in shown and "disk 1.5 GiB, differs from debian" in shown and "dirty rate 3 MiB/s" in shown


@pytest.mark.parametrize(
    ("cpu", "settled", "said"),
    [
        ("baseline", "EPYC-Rome,-rdpid", "EPYC-Rome,-rdpid (baseline)"),
        ("policy", "EPYC-Rome", "EPYC-Rome (by policy)"),
        ("EPYC-Rome", "EPYC-Rome", "EPYC-Rome"),
        ("policy", None, "policy"),
        ("host", None, "host"),
    ],
)
def test_the_cpu_of_a_vm(controller: Controller, weft: Weft, cpu: str, settled: str | None, said: str) -> None:
    """The line shows the VM's CPU and the origin of the choice."""
    controller.answers["GET", "/api/v1/vms/web"] = VM | {"cpu": cpu, "cpu_settled": settled}
    (line,) = (line for line in weft("vm", "show", "web").out.splitlines() if line.lower().startswith("cpu"))
    assert line[3:].strip() == said


def test_a_vm_that_ended_by_itself_does_not_look_well(controller: Controller, weft: Weft) -> None:
    ended = VM | {"condition": "stopped", "ended": "the guest has panicked"}
    controller.answers["GET", "/api/v1/vms"] = {"items": [ended], "next_cursor": None}
    assert "stopped, by itself" in " ".join(weft("vm", "list").out.split())
    controller.answers["GET", "/api/v1/vms/web"] = ended
    assert "ended the guest has panicked" in " ".join(weft("vm", "show", "web").out.split())


@pytest.mark.parametrize(
    "more",
    [
        ["--memory", "much"],
        ["--memory", "512"],
        ["--memory", "1G", "--disk", "debian:2048"],
        ["--memory", "1G", "--disk", "debian"],
        ["--memory", "1G", "--mac", "02:00:5e:00:00:01"],
        ["--memory", "1G", "--option", "cpu"],
    ],
)
def test_a_vm_that_nobody_can_make(controller: Controller, weft: Weft, more: list[str]) -> None:
    result = weft("vm", "add", "web", "--device", "ana", "--endpoint", "c1-lan", "--image", "debian", *more)
    assert result.code == 2 and more[-2] in result.err and not controller.asked


def test_a_vm_is_added_and_started(controller: Controller, weft: Weft) -> None:
    controller.answers["POST", "/api/v1/vms"] = VM | {"condition": "gone"}
    controller.answers["POST", "/api/v1/vms/web/start"] = VM
    given = ["--device", "ana", "--endpoint", "c1-lan", "--image", "debian", "--memory", "512M", "--start"]
    assert weft("vm", "add", "web", *given).out == "web works for ana, at c1-lan; it is starting\n"
    assert controller.last.url.path == "/api/v1/vms/web/start"
