"""An inventory of a NetBox at a controller: imported, checked, planned and applied by `weft`; a second time it changes
nothing, and a change in NetBox is a change in the region."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from controller.cli.main import run
from tests.unit.controller.conftest import ADMIN, Controller
from tests.unit.netbox.fake_netbox import TOKEN, FakeNetBox, running
from tests.unit.netbox.objects import site, towns


async def test_a_netbox_is_applied(
    controller: Controller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in {
        "WEFT_URL": str(controller.http.base_url),
        "WEFT_TOKEN": ADMIN,
        "WEFT_NETBOX_TOKEN": TOKEN,
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }.items():
        monkeypatch.setenv(name, value)
    file = str(tmp_path / "inventory.yaml")

    async def weft(*words: str, code: int = 0) -> Any:
        ended = await asyncio.to_thread(run, ["inventory", *words, "-o", "json"])
        out, err = capfd.readouterr()
        assert ended == code, out + err
        return json.loads(out)

    def steps(answer: Any) -> list[str]:
        return [f"{step['action']} {step['name']}" for step in answer["plan"]["steps"]]

    objects = towns()
    with running(FakeNetBox(objects)) as netbox:
        take = ("import", "netbox", "--at", netbox.url, "--to", file)
        await weft(*take)
        [checked] = await weft("check", file)
        assert checked["ok"] and checked["checked"] == "form, and the region at the controller"
        made = ["milan-2", "turin", "milan-2-lan", "turin-vlan20", "lamp", "till", "web"]
        assert steps(await weft("plan", file)) == [f"create {name}" for name in made]
        applied = await weft("apply", file, "--tokens-to", str(tmp_path / "tokens"), code=1)
        assert not applied["in_force"], "no agent has enrolled yet"
        assert applied["revision"] == 1 and (tmp_path / "tokens" / "turin.token").is_file()
        assert (await controller.get("/cloudlets/turin"))["labels"] == {"region": "north"}
        assert (await controller.get("/endpoints/turin-vlan20"))["ports"] == ["eth0.20", "eth1"]
        assert (await controller.get("/devices/lamp"))["mac"] == "02:00:5e:00:00:02"
        assert (await controller.get("/vms/web"))["endpoint"] == "turin-vlan20"
        await weft(*take)
        assert steps(await weft("plan", file)) == [] and (await weft("apply", file))["revision"] == 1
        objects["dcim/interfaces"][1]["enabled"] = True
        objects["ipam/ip-addresses"].clear()
        objects["dcim/sites"].append(site(4, "asti", custom_fields={"weft_pe": "vpls", "weft_vtep": "198.51.100.4"}))
        await weft(*take)
        assert steps(await weft("plan", file)) == ["remove lamp", "change turin-vlan20", "create asti"]
