"""Policy and inventory as resources: planned by the controller, applied exactly as planned or not at all."""

import pytest

from lab.paths import ROOT
from tests.unit.terraform.configurations import BOTH, FILED, INVENTORY, ONE, PAIR, TOWNS, WRITTEN
from tests.unit.terraform.workspace import Failed, Workspace

pytestmark = pytest.mark.slow


@pytest.fixture
def pair(workspace: Workspace) -> Workspace:
    """Two endpoints that are applied."""
    workspace.write(PAIR)
    workspace.apply()
    return workspace


def members(workspace: Workspace) -> list[str]:
    return list(workspace.controller.get("/vcps/blue")["members"])


def test_a_policy_waits_for_the_objects_whose_ids_it_has(workspace: Workspace) -> None:
    workspace.write(PAIR + WRITTEN)
    workspace.apply()
    assert members(workspace) == ["c1-lan", "c2-lan"]


def test_the_example_is_applied(workspace: Workspace) -> None:
    (workspace.folder / "main.tf").write_text((ROOT / "deploy/terraform/examples/region/main.tf").read_text())
    workspace.apply()
    assert workspace.controller.names("vcps") == ["clinics"]


def test_a_policy_shows_its_steps_and_is_applied_as_planned(pair: Workspace) -> None:
    pair.write(PAIR + FILED, pools=BOTH)
    assert pair.plan() == {"weft_policy.this": ["create"]}
    assert all(line in pair.told for line in ('"+ VCP blue"', '"+ c1-lan joins blue"', '"+ c2-lan joins blue"'))
    pair.tofu("apply", "-no-color", "planned")
    pair.is_settled()
    pair.write(PAIR + FILED, pools=ONE)
    assert pair.plan() == {"weft_policy.this": ["update"]} and "- c2-lan leaves blue" in pair.told
    pair.apply()
    assert members(pair) == ["c1-lan"]
    pair.write(PAIR)
    pair.apply()
    assert pair.controller.names("vcps") == []


def test_errors_have_line_and_column(pair: Workspace) -> None:
    pair.write(PAIR + FILED, pools=BOTH.replace("c2-lan", "c2-lam"))
    with pytest.raises(Failed, match=r"pools\.yaml:3:43: .*did you mean 'c2-lan'.*\^") as failed:
        pair.plan()
    assert "with weft_policy.this" in str(failed.value)
    pair.write(PAIR + FILED, pools=BOTH.replace("members", "membres"))
    with pytest.raises(Failed, match=r"pools\.yaml:3:\d+: "):
        pair.plan()
    pair.write(PAIR + FILED, pools=BOTH + "tests:\n  - isolated: {from: c1-lan, to: c2-lan}\n")
    with pytest.raises(Failed, match=r"pools\.yaml:5:\d+: test 'isolated 1' failed"):
        pair.plan()
    pair.write(PAIR)


def test_a_plan_that_no_longer_holds_is_not_applied(pair: Workspace) -> None:
    pair.write(PAIR + FILED, pools=BOTH)
    pair.plan()
    pair.controller.weft("vcp", "add", "blue", "--flavour", "evpn")
    with pytest.raises(Failed, match=r"inconsistent final plan.*planned"):
        pair.tofu("apply", "-no-color", "planned")
    assert members(pair) == []
    pair.apply()
    assert members(pair) == ["c1-lan", "c2-lan"]


def test_another_policy_is_not_overwritten(pair: Workspace) -> None:
    text = pair.folder / "theirs.yaml"
    text.write_text(ONE)
    pair.controller.weft("policy", "apply", str(text), "--yes")
    pair.write(PAIR + FILED, pools=BOTH)
    with pytest.raises(Failed, match=r"There is a policy in force already .*theirs\.yaml.*import it"):
        pair.tofu("apply", "-auto-approve", "-no-color")
    assert members(pair) == ["c1-lan"]
    pair.tofu("import", "-no-color", "weft_policy.this", "policy")
    pair.apply()
    assert members(pair) == ["c1-lan", "c2-lan"]
    text.write_text(ONE)
    pair.write(PAIR + FILED, pools=BOTH + "# again\n")
    pair.plan()
    pair.controller.weft("policy", "apply", str(text), "--yes", "--anew")
    with pytest.raises(Failed, match=r"inconsistent final plan|Another policy has come into force"):
        pair.tofu("apply", "-no-color", "planned")
    assert members(pair) == ["c1-lan"]
    pair.apply()


def test_drift_from_the_policy_is_mended(pair: Workspace) -> None:
    pair.write(PAIR + FILED, pools=BOTH)
    pair.apply()
    for _ in range(2):
        pair.controller.weft("vcp", "leave", "blue", "c2-lan", "--yes")
        assert pair.plan() == {"weft_policy.this": ["update"]} and "+ c2-lan joins blue" in pair.told
        assert "The region has drifted from the policy" in pair.told
        pair.apply()
        assert members(pair) == ["c1-lan", "c2-lan"]


def test_an_inventory_is_one_resource(workspace: Workspace) -> None:
    workspace.write(INVENTORY, towns=TOWNS)
    assert workspace.plan() == {"weft_inventory.this": ["create"]} and "+ cloudlet c1: pe vpls" in workspace.told
    workspace.tofu("apply", "-no-color", "planned")
    workspace.is_settled()
    there = workspace.controller
    assert there.names("endpoints") == ["c1-lan"]
    token = workspace.values("weft_inventory.this")["enrolment_tokens"]["c1"]
    more = TOWNS.replace("endpoints:", "  c2: {pe: vpls, vtep: 192.0.2.2}\nendpoints:").replace(
        "/24}", "/24, mtu: 1400}"
    )
    workspace.write(INVENTORY, towns=more)
    assert workspace.plan() == {"weft_inventory.this": ["update"]} and "mtu 1450 → 1400" in workspace.told
    workspace.apply()
    told = workspace.values("weft_inventory.this")["enrolment_tokens"]
    assert told["c1"] == token and there.get("/endpoints/c1-lan")["mtu"] == 1400 and "c2" in told
    there.weft("endpoint", "set", "c1-lan", "--mtu", "1300")
    assert workspace.plan() == {"weft_inventory.this": ["update"]}
    workspace.apply()
    workspace.write(INVENTORY, towns=TOWNS.replace("vpls", "evpn"))
    with pytest.raises(Failed, match=r"inventory\.yaml:3:\d+: .*cannot be changed|inventory\.yaml:3:\d+: "):
        workspace.plan()
    workspace.write(INVENTORY, towns=TOWNS)
