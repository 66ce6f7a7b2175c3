"""Wrong input: each error names the attribute and the remedy, and most come before anything is applied."""

from pathlib import Path

import pytest

from deploy.terraform import mirror
from tests.unit.terraform.configurations import PAIR
from tests.unit.terraform.workspace import PROVIDER, REQUIRED, Failed, Workspace

pytestmark = pytest.mark.slow

CLOUDLET = 'resource "weft_cloudlet" "c1" {{\n name = {name}\n pe = {pe}\n vtep = {vtep}\n {more}\n}}\n'
RIGHT = {"name": '"c1"', "pe": '"evpn"', "vtep": '"192.0.2.1"', "more": ""}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": '"C1"'}, 'name = "C1".*1 to 63 lower-case letters'),
        ({"pe": '"mpls"'}, 'pe = "mpls".*"vpls" "evpn" "vpnv4" "vpnv6"'),
        ({"vtep": '"192.0.2.300"'}, "Not an IPv4 address.*write it as in 192.0.2.1"),
        ({"more": "latitude = 45"}, "longitude"),
        ({"more": "latitude = 95\n longitude = 7"}, "latitude = 95.*between"),
        ({"more": "token_seconds = 0"}, "token_seconds = 0.*between"),
        ({"more": 'labels = { City = "turin" }'}, "City.*lower-case"),
        ({"more": 'colour = "red"'}, 'Unsupported argument.*"colour"'),
    ],
)
def test_a_plan_finds_it(workspace: Workspace, wrong: dict[str, str], said: str) -> None:
    workspace.write(CLOUDLET.format(**(RIGHT | wrong)))
    with pytest.raises(Failed, match=said):
        workspace.plan()
    workspace.write("")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            'resource "weft_cloudlet" "c9" {\n name = "c9"\n pe = "evpn"\n vtep = "192.0.2.1"\n'
            " depends_on = [weft_endpoint.lan]\n}",
            'Cannot add cloudlet c9: conflict.*vtep = "192.0.2.1".*192.0.2.1 is the VTEP of cloudlet c1',
        ),
        (
            'resource "weft_endpoint" "e" {\n name = "e"\n cloudlet = "c11"\n prefix = "10.9.0.0/24"\n'
            " depends_on = [weft_endpoint.lan]\n}",
            "Cannot add endpoint e: .*cloudlet = \"c11\".*there is no cloudlet 'c11': did you mean 'c1'",
        ),
        (
            'resource "weft_vcp" "v" {\n name = "v"\n members = [weft_endpoint.lan["c1"].name]\n}',
            "Cannot let c1-lan join vcp v: conflict.*members = .*is a pool of vpls endpoints",
        ),
        (
            'resource "weft_device" "d" {\n name = "d"\n mac = "01:00:5e:00:00:01"\n}',
            'Cannot add device d: .*mac = "01:00:5e:00:00:01".*multicast',
        ),
    ],
)
def test_the_controller_refuses_it(workspace: Workspace, more: str, said: str) -> None:
    workspace.write(PAIR + more)
    with pytest.raises(Failed, match=said):
        workspace.tofu("apply", "-auto-approve", "-no-color")


def test_a_change_that_would_be_refused_is_foreseen(workspace: Workspace) -> None:
    workspace.write(PAIR)
    workspace.apply()
    workspace.write(PAIR.replace('c2 = "192.0.2.2"', 'c2 = "192.0.2.1"'))
    workspace.plan()
    assert "Warning: Cannot change cloudlet c2: conflict" in workspace.told
    workspace.write(PAIR)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('url = "ftp://controller"', "The provider's url cannot be used.*begins with unix://"),
        ('token_file = "/nonexistent"', "The provider's token_file cannot be used.*WEFT_TOKEN_FILE"),
        ('token = "a"\n token_file = "b"', "token_file"),
        ('url = "unix:///nonexistent/controller.sock"', "unix:///nonexistent/controller.sock: .*no such file"),
    ],
)
def test_wrong_settings_of_the_provider_are_named(workspace: Workspace, settings: str, said: str) -> None:
    workspace.write(f'provider "weft" {{\n {settings}\n}}\ndata "weft_cloudlet" "c1" {{\n name = "c1"\n}}\n')
    with pytest.raises(Failed, match=said):
        workspace.plan()
    workspace.write("")


def test_a_caller_without_a_token_is_told_where_it_goes(workspace: Workspace) -> None:
    provider = f'provider "weft" {{\n url = "{workspace.controller.tcp}"\n}}\n'
    workspace.write(provider + 'data "weft_route_servers" "all" {}\n')
    with pytest.raises(Failed, match="No token is given: set `token`"):
        workspace.plan()
    workspace.tofu("plan", "-no-color", WEFT_TOKEN="an-admin-token-for-tests")
    workspace.write("")


def test_data_sources_show_what_others_made(workspace: Workspace) -> None:
    workspace.write(
        PAIR
        + """
data "weft_cloudlet" "c1" {
  name       = "c1"
  depends_on = [weft_endpoint.lan]
}
data "weft_endpoint" "c1" {
  name       = "c1-lan"
  depends_on = [weft_endpoint.lan]
}
data "weft_route_servers" "all" {}
output "seen" { value = [data.weft_cloudlet.c1.endpoints, data.weft_endpoint.c1.gateway, data.weft_route_servers.all] }
"""
    )
    workspace.apply()
    workspace.tofu("output", "-json", "seen")
    assert workspace.told.strip() == '[["c1-lan"],"10.1.0.1",{"route_servers":[]}]'
    workspace.write(PAIR + 'data "weft_cloudlet" "c9" {\n name = "c9"\n}\n')
    with pytest.raises(Failed, match=r"Cannot read cloudlet c9.*there is no cloudlet 'c9'"):
        workspace.plan()
    workspace.write(PAIR)


def test_it_is_installed_from_a_mirror(workspace: Workspace, tmp_path: Path) -> None:
    files = {mirror.program("1.0.0"): PROVIDER}
    mirror.pack(tmp_path / "mirror", "1.0.0", _platform(workspace), files, 1_700_000_000)
    workspace.installs(f'filesystem_mirror {{ path = "{tmp_path / "mirror"}" }}')
    workspace.write('data "weft_route_servers" "all" {}\n')
    workspace.tofu("init", "-no-color")
    workspace.tofu("plan", "-no-color")
    assert REQUIRED in (workspace.folder / "main.tf").read_text()


def _platform(workspace: Workspace) -> str:
    workspace.tofu("version")
    return workspace.told.partition("on ")[2].split()[0]
