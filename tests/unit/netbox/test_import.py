"""`weft inventory import netbox` against a fake NetBox: paging, the token, TLS, and each way in which it fails."""

import sys
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse, RedirectResponse

from controller.cli.netbox import AT_ONCE, RETRIES, NetBox
from tests.unit.cli.conftest import Weft
from tests.unit.controller.webhook_receiver import certificate
from tests.unit.netbox.fake_netbox import TOKEN, FakeNetBox, busy, running
from tests.unit.netbox.objects import TOWNS, Objects, device, interface

IMPORT = ("inventory", "import", "netbox", "--at")


def test_two_towns(weft: Weft, netbox: FakeNetBox) -> None:
    result = weft(*IMPORT, f"{netbox.url}/api/")
    assert (result.code, result.out, result.err) == (0, TOWNS, "")
    found = weft(*IMPORT, netbox.url, "-o", "json").json
    assert found == {"text": TOWNS, "objects": {"cloudlets": 2, "endpoints": 2, "devices": 2, "vms": 1}, "warnings": []}
    devices = [query for path, query in netbox.queries if path == "dcim/devices"]
    assert all(query["exclude"] == ["config_context"] and query["status"] == ["active"] for query in devices)


def test_many_objects_come_in_pages(weft: Weft, netbox: FakeNetBox, objects: Objects) -> None:
    turin, netbox.pages = objects["dcim/sites"][0], 7
    for number in range(100, 100 + AT_ONCE + 30):
        fax = device(number, f"fax-{number}", turin, "cash")
        objects["dcim/devices"].append(fax)
        mac = f"02:00:5E:01:{number >> 8:02X}:{number & 255:02X}"
        objects["dcim/interfaces"].append(interface(number, "lan0", fax, mac_address=mac))
    found = weft(*IMPORT, netbox.url, "-o", "json").json
    assert found["objects"]["devices"] == AT_ONCE + 32
    interfaces = [query for path, query in netbox.queries if path == "dcim/interfaces"]
    assert max(len(query.get("device_id", [])) for query in interfaces) == AT_ONCE
    assert {query["limit"][-1] for path, query in netbox.queries if "offset" not in query} == {"0"}
    assert any("offset" in query for query in interfaces)


def test_a_token_comes_from_a_file(
    weft: Weft, netbox: FakeNetBox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    monkeypatch.setenv("WEFT_NETBOX_TOKEN", "another")
    assert weft(*IMPORT, netbox.url, "--token-file", str(tmp_path / "token")).out == TOWNS
    refused = weft(*IMPORT, netbox.url)
    assert refused.code == 3 and f"the NetBox at {netbox.url} refused /api/" in refused.err
    assert (
        "Invalid v1 token" in refused.err and "  the token is in --token-file, or in WEFT_NETBOX_TOKEN" in refused.err
    )
    assert weft(*IMPORT, netbox.url, "-o", "json").json["status"] == 403
    monkeypatch.delenv("WEFT_NETBOX_TOKEN")
    missing = weft(*IMPORT, netbox.url)
    assert missing.code == 2 and "NetBox needs a token: --token-file names its file" in missing.err
    monkeypatch.setenv("WEFT_NETBOX_TOKEN", "two words")
    assert "WEFT_NETBOX_TOKEN: this is not a token" in weft(*IMPORT, netbox.url).err


def test_netrc_does_not_replace_the_token(
    weft: Weft, netbox: FakeNetBox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login ana password hers\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert weft(*IMPORT, netbox.url).out == TOWNS


def test_a_list_that_the_user_may_not_view(weft: Weft, netbox: FakeNetBox) -> None:
    netbox.refused = {"ipam/prefixes"}
    result = weft(*IMPORT, netbox.url)
    assert result.code == 3 and "refused /api/ipam/prefixes/: You do not have permission to perform" in result.err


def test_choices_that_netbox_does_not_have_are_told(weft: Weft, netbox: FakeNetBox, tmp_path: Path) -> None:
    netbox.roles = {"cash"}
    (tmp_path / "m.yaml").write_text("apiVersion: weft/netbox/v1\ndevices: {tags: [weft, tills]}\n")
    result = weft(*IMPORT, netbox.url, "--mapping", str(tmp_path / "m.yaml"))
    assert result.code == 1 and result.out == ""
    assert result.err.splitlines()[:2] == [
        f"{netbox.url}: warning: this NetBox has no tag 'tills'",
        f"{netbox.url}: warning: this NetBox has no role 'weft-pe'",
    ]
    assert "no device of role weft-pe" in result.err


def test_errors_name_the_page_and_nothing_is_written(
    weft: Weft, netbox: FakeNetBox, objects: Objects, tmp_path: Path
) -> None:
    to = tmp_path / "inventory.yaml"
    assert weft(*IMPORT, netbox.url, "--to", str(to)).out == "" and to.read_text() == TOWNS
    objects["dcim/sites"][0]["latitude"] = None
    objects["ipam/prefixes"][2]["custom_fields"]["weft_mtu"] = 1
    result = weft(*IMPORT, netbox.url, "--to", str(to))
    assert result.code == 1 and result.out == "" and to.read_text() == TOWNS
    assert result.err.splitlines() == [
        "https://netbox.test/dcim/sites/1/: site Turin: it has a longitude and no latitude; a place has both: fill in "
        "the other",
        "https://netbox.test/ipam/prefixes/3/: prefix 10.2.0.0/24: endpoints.milan-2-lan.mtu must be at least 576 and "
        "at most 9216, not 1; correct its custom field weft_mtu",
        f"weft: no inventory of {netbox.url}: 2 errors; nothing was written",
    ]
    told = weft(*IMPORT, netbox.url, "-o", "json").json["errors"]
    assert [one["thing"] for one in told] == ["site Turin", "prefix 10.2.0.0/24"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".inv")] == []
    elsewhere = weft(*IMPORT, netbox.url, "--to", str(tmp_path / "no" / "file"))
    assert elsewhere.code == 1, "the errors come first"
    objects["dcim/sites"][0]["latitude"] = 45.07
    objects["ipam/prefixes"][2]["custom_fields"]["weft_mtu"] = 1400
    elsewhere = weft(*IMPORT, netbox.url, "--to", str(tmp_path / "no" / "file"))
    assert elsewhere.code == 2 and "--to: cannot write" in elsewhere.err


def test_a_wrong_mapping_has_its_place(weft: Weft, netbox: FakeNetBox, tmp_path: Path) -> None:
    mapping = tmp_path / "m.yaml"
    mapping.write_text("apiVersion: weft/netbox/v1\ncloudlets: {tag: [weft]}\n")
    result = weft(*IMPORT, netbox.url, "--mapping", str(mapping))
    assert result.code == 1 and f"{mapping}:2:13: unknown key 'tag': did you mean 'tags'?" in result.err
    assert weft(*IMPORT, netbox.url, "--mapping", str(mapping), "-o", "json").json["errors"][0]["line"] == 2
    assert weft(*IMPORT, netbox.url, "--mapping", str(tmp_path / "none")).code == 2
    assert not netbox.queries, "NetBox is asked only with a right mapping"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("netbox.test", "it begins with https://"),
        ("ftp://netbox.test", "it begins with https://"),
        ("https://ana:hers@netbox.test", "has no user and no password in it"),
        ("https://netbox.test/?a=1", "it ends before '?' and '#'"),
        ("https://netbox.test:port", "is not a NetBox's URL"),
    ],
)
def test_a_wrong_url(weft: Weft, monkeypatch: pytest.MonkeyPatch, url: str, words: str) -> None:
    monkeypatch.setenv("WEFT_NETBOX_TOKEN", TOKEN)
    result = weft(*IMPORT, url)
    assert result.code == 2 and words in result.err and "hers" not in result.err


def test_a_token_in_the_clear_is_told() -> None:
    assert NetBox("http://netbox.test", TOKEN).notes == ["the token goes there in the clear: use https://"]
    assert NetBox("http://127.0.0.1:8000", TOKEN).notes == NetBox("https://netbox.test", TOKEN).notes == []


def test_netbox_is_away(weft: Weft, netbox: FakeNetBox) -> None:
    result = weft(*IMPORT, "http://127.0.0.1:9")
    assert (result.code, result.err) == (4, "weft: no NetBox at http://127.0.0.1:9: Connection refused\n")


def test_a_busy_netbox_is_asked_again(weft: Weft, netbox: FakeNetBox, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("urllib3.util.retry.time.sleep", slept.append)
    netbox.failing = [busy(), busy(429)]
    assert weft(*IMPORT, netbox.url).out == TOWNS and slept == [1, 1]
    netbox.failing = [busy() for _ in range(int(RETRIES.total or 0) + 1)]
    result = weft(*IMPORT, netbox.url)
    assert result.code == 4 and "with 503 (Service Unavailable); try again later" in result.err
    netbox.failing = [PlainTextResponse("<h1>Server Error (500)</h1>", 500)]
    assert weft(*IMPORT, netbox.url).code == 4


def test_another_program_answers(weft: Weft, netbox: FakeNetBox) -> None:
    netbox.failing = [PlainTextResponse("<html>")]
    assert "something that is not JSON: is it NetBox?" in weft(*IMPORT, netbox.url).err
    netbox.release = ""
    result = weft(*IMPORT, netbox.url)
    assert result.code == 4 and "names no release of NetBox's API: is it NetBox?" in result.err
    netbox.release = "3.7"
    assert f"{netbox.url} is NetBox 3.7: weft reads NetBox 4.0 and later" in weft(*IMPORT, netbox.url).err
    result = weft(*IMPORT, f"{netbox.url}/elsewhere")
    assert result.code == 4 and "/elsewhere/api/ with 404" in result.err


def test_an_answer_of_another_form(weft: Weft, netbox: FakeNetBox, objects: Objects) -> None:
    objects["dcim/sites"][0]["id"] = "one"
    result = weft(*IMPORT, netbox.url)
    assert result.code == 4 and "answered with what weft cannot read" in result.err


def test_the_token_goes_nowhere_else(weft: Weft, netbox: FakeNetBox) -> None:
    other = FakeNetBox(netbox.objects)
    with running(other):
        netbox.pages, netbox.elsewhere = 1, other.url
        result = weft(*IMPORT, netbox.url)
        assert result.code == 4 and f"the NetBox at {netbox.url} sends weft to another address" in result.err
        assert "X-Forwarded-Proto" in result.err
        netbox.failing = [RedirectResponse(f"{other.url}/api/dcim/sites/")]
        assert weft(*IMPORT, netbox.url).code == 4
    assert not other.queries


def test_tls_with_an_authority_of_its_own(
    weft: Weft, objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_NETBOX_TOKEN", TOKEN)
    root, options = certificate(tmp_path)
    (tmp_path / "root.pem").write_text(root)
    with running(FakeNetBox(objects), **options) as netbox:
        assert netbox.url.startswith("https://")
        unknown = weft(*IMPORT, netbox.url)
        assert unknown.code == 4 and f"no trust in the NetBox at {netbox.url}: " in unknown.err
        assert "--root-file names the authorities of NetBox's certificate" in unknown.err
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "certificate.pem"))
        assert weft(*IMPORT, netbox.url, "--root-file", str(tmp_path / "root.pem")).out == TOWNS
    missing = weft(*IMPORT, netbox.url, "--root-file", str(tmp_path / "none.pem"))
    assert missing.code == 2 and "--root-file: cannot read" in missing.err
    (tmp_path / "empty.pem").write_text("")
    assert "has no certificates in it (PEM)" in weft(
        *IMPORT, netbox.url, "--root-file", str(tmp_path / "empty.pem")
    ).err  # fmt: skip


def test_without_the_library_the_extra_is_named(
    weft: Weft, netbox: FakeNetBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "controller.cli.netbox")
    monkeypatch.setitem(sys.modules, "pynetbox", None)
    result = weft(*IMPORT, netbox.url)
    assert (result.code, result.err) == (
        1, "weft: reading a NetBox needs the Python package pynetbox: install weft with the extra 'netbox'\n",
    )  # fmt: skip


def test_it_asks_no_controller(weft: Weft) -> None:
    """Options that say where a controller is would say nothing here."""
    assert weft(*IMPORT, "https://netbox.test", "--url", "http://x").code == 2
    assert "--root-file" in weft("inventory", "import", "--help").out
