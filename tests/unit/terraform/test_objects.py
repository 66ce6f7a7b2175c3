"""Cloudlets, endpoints, devices, VMs and pools as resources: made, changed, replaced, mended, imported, removed."""

import json

import pytest

from tests.unit.terraform.configurations import REGION
from tests.unit.terraform.workspace import Failed, Workspace

pytestmark = pytest.mark.slow


@pytest.fixture
def region(workspace: Workspace) -> Workspace:
    """A region that is applied; the second plan was empty."""
    workspace.write(REGION)
    workspace.apply()
    return workspace


def changed(workspace: Workspace, *replacements: tuple[str, str]) -> None:
    """Change the configuration."""
    text = REGION
    for before, after in replacements:
        assert before in text
        text = text.replace(before, after)
    workspace.write(text)


def test_the_region_is_as_configured(region: Workspace) -> None:
    there = region.controller
    assert there.names("cloudlets") == ["c1", "c2", "c3"] and there.names("vms") == ["web"]
    blue = there.get("/vcps/blue")
    assert (blue["members"], blue["description"]) == (["c1-lan", "c2-lan"], "Clinics")
    lan = there.get("/endpoints/c1-lan")
    assert (lan["prefix6"], lan["ports"], lan["mtu"]) == ("2001:db8:1::/64", ["md*", "vm*"], 1450)
    assert there.get("/devices/m1")["mac"] == "02:00:5e:00:00:01"
    vm = there.get("/vms/web")
    assert (vm["memory"], vm["check"], vm["options"]) == (512 << 20, "tcp:80", {"cmdline": "quiet"})
    assert region.values('weft_endpoint.lan["c1"]')["gateway"] == "10.1.0.1"
    assert region.values("weft_vm.web")["current_endpoint"] == "c3-lan"


def test_the_token_of_a_new_cloudlet_enrols_its_agent(region: Workspace) -> None:
    token = region.values("weft_cloudlet.c3")["enrolment_token"]
    region.tofu("plan", "-no-color")
    assert token not in region.told
    assert region.values('weft_cloudlet.pe["c1"]')["enrolment_token"] is None
    body = {"token": token, "cloudlet": "c3", "agent_version": "1"}
    assert region.controller.http.post("/api/v1/enrolments", json=body).status_code == 201
    region.is_settled()
    assert region.values("weft_cloudlet.c3")["enrolment_token"] == token


def test_what_can_change_changes_in_place(region: Workspace) -> None:
    site = region.values('weft_endpoint.lan["c1"]')["site"]
    changed(
        region,
        ('ports    = ["md*", "vm*"]', 'mtu = 1400\n  tenant = "acme"'),
        ('{ city = "turin" }', '{ tier = "edge" }'),
        ('"192.0.2.3"', '"192.0.2.33"'),
        ("max_routes = 100", "lease_seconds = 600"),
        ("[for lan in weft_endpoint.lan : lan.id]", '["c2-lan"]'),
        ('{ mac = "0200.5e00.0012" }', '{ client_id = "0102" }'),
        ('options  = { cmdline = "quiet" }\n  check    = "tcp:80"', 'options = { console = "ttyS0" }\n  cpu = "max"'),
    )
    plan = region.plan()
    assert {tuple(actions) for actions in plan.values()} == {("update",)} and len(plan) == 9, plan
    assert "This interrupts traffic: change endpoint c1-lan" in region.told
    region.apply()
    there = region.controller
    lan = there.get("/endpoints/c1-lan")
    assert (lan["mtu"], lan["ports"], lan["tenant"], lan["site"]) == (1400, [], "acme", site)
    assert there.get("/cloudlets/c1")["labels"] == {"tier": "edge"}
    assert there.get("/cloudlets/c3")["vtep"] == "192.0.2.33"
    third = there.get("/endpoints/c3-lan")
    assert (third["max_routes"], third["lease_seconds"]) == (None, 600)
    assert there.get("/vcps/blue")["members"] == ["c2-lan"]
    assert there.get("/devices/m2")["vm"] == {"mac": None, "client_id": "0102"}
    vm = there.get("/vms/web")
    assert (vm["options"], vm["check"], vm["cpu"]) == ({"console": "ttyS0"}, None, "max")


def test_what_cannot_change_is_replaced(region: Workspace) -> None:
    changed(
        region,
        ('"Clinics"', '"Schools"'),
        ('"02-00-5E-00-00-01"', '"02-00-5E-00-00-02"'),
        ('image    = "debian"', 'image    = "alpine"'),
        ('name       = "c3-lan"', 'name       = "c3-hall"'),
    )
    plan = region.plan()
    replaced = ["delete", "create"]
    assert plan == {
        "weft_vcp.blue": replaced, "weft_vm.web": replaced, "weft_endpoint.c3": replaced, "weft_device.m1": ["update"],
    }  # fmt: skip
    region.apply()
    assert region.controller.get("/vms/web")["endpoint"] == "c3-hall"
    assert region.controller.get("/vcps/blue")["members"] == ["c1-lan", "c2-lan"]


def test_a_replacement_takes_along_what_stands_on_it(region: Workspace) -> None:
    changed(region, ('c2 = "192.0.2.2"', 'c4 = "192.0.2.4"'), ('c2 = "10.2.0.0/24"', 'c4 = "10.2.0.0/24"'))
    region.apply()
    assert region.controller.get("/vcps/blue")["members"] == ["c1-lan", "c4-lan"]
    region.tofu("apply", "-auto-approve", "-no-color", "-replace", 'weft_cloudlet.pe["c1"]')
    region.is_settled()
    assert region.controller.get("/vcps/blue")["members"] == ["c1-lan", "c4-lan"]


def test_drift_is_seen_and_mended(region: Workspace) -> None:
    there = region.controller
    there.weft("endpoint", "set", "c1-lan", "--mtu", "1300")
    there.weft("vcp", "leave", "blue", "c2-lan", "--yes")
    there.weft("device", "remove", "m2", "--yes")
    assert region.plan() == {
        'weft_endpoint.lan["c1"]': ["update"], "weft_vcp.blue": ["update"], "weft_device.m2": ["create"],
    }  # fmt: skip
    region.apply()
    assert there.get("/endpoints/c1-lan")["mtu"] == 1450 and there.names("devices") == ["m1", "m2"]
    assert there.get("/vcps/blue")["members"] == ["c1-lan", "c2-lan"]


def test_a_change_on_an_outdated_view_is_refused(region: Workspace) -> None:
    changed(region, ("max_routes = 100", "max_routes = 200"))
    region.plan()
    region.controller.weft("endpoint", "set", "c3-lan", "--mtu", "1300")
    with pytest.raises(Failed, match=r"It was changed meanwhile.*Plan again"):
        region.tofu("apply", "-no-color", "planned")
    third = region.controller.get("/endpoints/c3-lan")
    assert (third["max_routes"], third["mtu"]) == (100, 1300)


def test_a_vm_that_has_moved_is_no_difference(region: Workspace) -> None:
    state = json.loads((region.folder / "terraform.tfstate").read_text())
    [found] = [one for one in state["resources"] if one["type"] == "weft_vm"]
    found["instances"][0]["attributes"]["endpoint"] = "elsewhere"  # added there, before a move
    (region.folder / "terraform.tfstate").write_text(json.dumps(state))
    assert region.plan() == {"weft_vm.web": ["update"]}, "the configuration names the LAN where it is"
    region.apply()


def test_each_is_imported_by_its_name(region: Workspace) -> None:
    (region.folder / "terraform.tfstate").unlink()
    for address, name in {
        'weft_cloudlet.pe["c1"]': "c1", 'weft_cloudlet.pe["c2"]': "c2", "weft_cloudlet.c3": "c3",
        'weft_endpoint.lan["c1"]': "c1-lan", 'weft_endpoint.lan["c2"]': "c2-lan", "weft_endpoint.c3": "c3-lan",
        "weft_vcp.blue": "blue", "weft_device.m1": "m1", "weft_device.m2": "m2", "weft_vm.web": "web",
    }.items():  # fmt: skip
        region.tofu("import", "-no-color", address, name)
    plan = region.plan()
    spelt = {'weft_endpoint.lan["c1"]', "weft_device.m1", "weft_device.m2"}  # the configuration spells them otherwise
    assert plan.keys() <= spelt and all(actions == ["update"] for actions in plan.values()), plan
    region.apply()
    region.tofu("state", "rm", "-no-color", "weft_device.m2")
    with pytest.raises(Failed, match="Cannot import non-existent remote object"):
        region.tofu("import", "-no-color", "weft_device.m2", "m9")
    region.tofu("import", "-no-color", "weft_device.m2", "m2")
