"""The events that a report causes: each only once."""

import asyncio
from typing import Any

from controller.core.report_news import news
from controller.wire.findings import Finding
from controller.wire.reports import Report
from tests.kernels import kernel
from tests.unit.agents.desires import desired, endpoint
from tests.unit.controller.conftest import Controller

REPORT = kernel(desired(endpoint(1)))


def gone(milliseconds: int | None) -> Finding:
    found = "gone" if milliseconds is None else f"gone for {milliseconds} ms"
    return Finding(
        kind="rules-gone",
        subject="nftables",
        expected="in place",
        found=found,
        text=f"nft took rules out of nftables (weft). They were {found}.",
        milliseconds=milliseconds,
    )


def having(*findings: Finding) -> Report:
    return REPORT.model_copy(update={"findings": list(findings)})


def told(before: Report | None, report: Report) -> list[tuple[str, dict[str, Any]]]:
    return [(one.type, one.data) for one in news(before, report)]


def test_a_gap_is_an_event_once_it_is_over() -> None:
    assert told(REPORT, having(gone(None))) == []
    assert told(having(gone(None)), having(gone(250))) == [("rules-gone", {"milliseconds": 250})]
    assert told(having(gone(250)), having(gone(250))) == []
    assert told(having(gone(250)), having(gone(90))) == [("rules-gone", {"milliseconds": 90})]
    assert told(having(gone(90)), REPORT) == []
    assert told(None, having(gone(90))) == [("rules-gone", {"milliseconds": 90})]


async def test_events_are_written_down(controller: Controller) -> None:
    agent = await controller.agent("c1", 1)
    report = kernel(agent.documents[-1]).model_copy(update={"findings": [gone(250)]})
    for _ in range(2):
        assert (await agent.report(report)).status_code == 204
    async with asyncio.timeout(5):
        while True:
            items = (await controller.get("/events", limit=1000))["items"]
            if found := [event for event in items if event["type"] == "rules-gone"]:
                break
            await asyncio.sleep(0.02)
    (event,) = found
    assert event["subject"] == "c1" and event["data"]["milliseconds"] == 250 and "gone for 250 ms" in event["text"]


def test_a_duplicate_mac_is_one_event() -> None:
    words = {"subject": "02:00:5e:00:00:01", "expected": "one place", "found": "port md1 and c2-lan", "text": "twice"}
    twice = having(Finding(kind="mac-duplicate", endpoint="c1-lan", **words))
    data = {"mac": words["subject"], "endpoint": "c1-lan", "places": words["found"]}
    assert told(REPORT, twice) == [("mac-duplicate", data)]
    assert told(twice, twice) == [] and told(twice, REPORT) == []
