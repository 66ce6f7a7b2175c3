"""Changes on trial, with a controller that is killed and two real route servers: whichever part is away, in the end all
agree, and no endpoint is in a pool without a confirmed change."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.patience import until
from tests.integration.route_servers import World, world


@pytest.fixture
def region(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def tried(region: World, *arguments: str, within: int) -> int:
    """Make a change on trial; return its generation. There are no agents here, so the change is not in force
    everywhere."""
    answer = region.json(*arguments, "--confirm-within", str(within), code=None)
    assert answer["confirm_by"], answer
    return int(answer["generation"])


def pools(region: World, members: dict[str, list[str]]) -> bool:
    return all(server.pools() == members for server in region.servers)


def generations(region: World) -> list[int]:
    return [int(server.get("/v1/status")["generation"]) for server in region.servers]


def show(region: World, number: int) -> Any:
    return region.json("change", "show", str(number))


pytestmark = pytest.mark.lab

BEFORE = {"blue": ["c1-lan"]}
AFTER = {"blue": ["c1-lan", "c2-lan"]}


@pytest.mark.smoke
def test_what_nobody_confirms_is_rolled_back_everywhere(region: World) -> None:
    number = tried(region, "vcp", "join", "blue", "c2-lan", within=10)
    assert pools(region, AFTER) and show(region, number)["state"] == "on-trial"
    for arguments in (("join", "blue", "c3-lan"), ("leave", "blue", "c1-lan"), ("join", "blue", "c3-lan", "--dry-run")):
        refused = region.weft("vcp", *arguments, code=3)
        assert f"change {number} is on trial until" in refused.stderr
    until(lambda: pools(region, BEFORE), "both route servers went back")
    assert region.json("vcp", "show", "blue")["members"] == ["c1-lan"]
    assert show(region, number)["state"] == "rolled-back"
    late = region.weft("change", "confirm", str(number), code=3)
    assert "was rolled back at" in late.stderr
    assert region.weft("change", "confirm", code=1).stderr == "weft: no change is on trial\n"
    assert "never on trial" in region.weft("change", "confirm", str(number - 1), code=3).stderr
    assert "there is no change '4711'" in region.weft("change", "confirm", "4711", code=3).stderr
    region.in_step()
    assert generations(region) == [number + 1] * 2
    told = [event["type"] for event in region.json("event", "list")]
    assert "change-rolled-back" in told and "rollback" not in told, told


def test_what_is_confirmed_stays(region: World) -> None:
    number = tried(region, "vcp", "join", "blue", "c2-lan", within=6)
    assert region.weft("change", "confirm").stdout == f"change {number} is confirmed: it is permanent\n"
    assert "confirmed already" in region.weft("change", "confirm", str(number), code=3).stderr
    time.sleep(6 + 6)  # the controller's time and the route servers' are over
    assert pools(region, AFTER) and generations(region) == [number] * 2
    assert not any("confirm_by" in server.get("/v1/status") for server in region.servers)
    left = tried(region, "vcp", "leave", "blue", "c1-lan", within=600)
    assert pools(region, {"blue": ["c2-lan"]})
    region.weft("change", "rollback", str(left), code=None)
    assert pools(region, AFTER)


def test_the_controller_is_killed_and_back_in_time(region: World) -> None:
    number = tried(region, "vcp", "join", "blue", "c2-lan", within=15)
    region.kill()
    region.controller.start()
    region.in_step()
    assert show(region, number)["state"] == "on-trial" and pools(region, AFTER)
    assert all(server.get("/v1/status").get("fallback") == number - 1 for server in region.servers)
    until(lambda: pools(region, BEFORE), "the new controller rolled it back")
    region.in_step()
    assert generations(region) == [number + 1] * 2


def test_the_controller_stays_away(region: World) -> None:
    number = tried(region, "vcp", "join", "blue", "c2-lan", within=2)
    region.kill()
    until(lambda: pools(region, BEFORE), "the route servers went back by themselves")
    assert generations(region) == [number - 1] * 2
    region.controller.start()
    region.in_step()
    assert generations(region) == [number + 1] * 2 and pools(region, BEFORE)
    assert show(region, number)["state"] == "rolled-back"
    assert region.json("vcp", "show", "blue")["members"] == ["c1-lan"]


def test_confirmed_while_a_route_server_is_away(region: World) -> None:
    """The route server comes back with the earlier rules, or still on trial, and accepts the controller's decision."""
    number = tried(region, "vcp", "join", "blue", "c2-lan", within=10)
    region.servers[1].kill()
    until(lambda: not region.route_servers()[1]["reachable"], "rs2 is missed")
    ended = region.weft("change", "confirm", code=1)
    assert "route server rs2" in ended.stderr
    time.sleep(10 + 6)
    region.servers[1].start()
    region.in_step()
    assert pools(region, AFTER) and generations(region) == [number] * 2


def test_a_route_server_that_missed_changes_falls_back_to_nothing_older(region: World) -> None:
    """rs2 was away when c1-lan left. When a later trial at rs2 expires, rs2 must not bring c1-lan back."""
    region.servers[1].kill()
    region.weft("vcp", "leave", "blue", "c1-lan", code=None)
    tried(region, "vcp", "join", "blue", "c2-lan", within=6)
    region.servers[1].start()
    region.in_step()
    assert pools(region, {"blue": ["c2-lan"]})
    region.kill()
    until(lambda: pools(region, {"blue": []}), "both fell back to the pool without c1-lan")


def test_a_policy_on_trial(region: World, tmp_path: Path) -> None:
    file = tmp_path / "pools.yaml"
    file.write_text("apiVersion: weft/v1\nvcps:\n  blue:\n    members: [c1-lan]\n")
    region.weft("policy", "apply", str(file))
    before = file.read_text()
    file.write_text("apiVersion: weft/v1\nvcps:\n  green:\n    members: [c2-lan, c3-lan]\n")
    rehearsed = region.json("policy", "apply", str(file), "--dry-run")
    assert rehearsed["dry_run"] and {r["route_server"] for r in rehearsed["route_servers"]} == {"rs1", "rs2"}
    answer = json.loads(
        region.weft("policy", "apply", str(file), "--confirm-within", "8", "-o", "json", code=None).stdout
    )
    assert answer["generation"] == rehearsed["generation"] and answer["plan"] == rehearsed["plan"]
    assert [r["peers"] for r in answer["route_servers"]] == [r["peers"] for r in rehearsed["route_servers"]]
    assert pools(region, {"green": ["c2-lan", "c3-lan"]}) and region.weft("policy", "show").stdout == file.read_text()
    until(lambda: pools(region, BEFORE), "the pools of the policy before")
    assert region.weft("policy", "show").stdout == before
    assert region.json("vcp", "show", "blue")["managed_by_policy"]
