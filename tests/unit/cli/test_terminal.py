"""Every table of every command is readable on a terminal of 80 columns: no value is split or lost."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import controller.cli
from controller.cli import output
from controller.cli.cells import NOTHING, Items, Prose, Row, plain, toned
from controller.cli.layout import as_record, as_table
from controller.cli.main import run
from controller.cli.output import Column
from controller.cli.route_filters import Table
from controller.cli.routes import COLUMNS
from tests.unit.cli.answers import ACTIONS, LISTS, PREDICTION
from tests.unit.cli.conftest import Controller, Terminal

TEXT = "no answer from 198.51.100.17 for 30 s: the PE ended its session with NOTIFICATION 6/2, after that nothing came"
ROW: dict[str, Any] = {
    "address": "10.255.255.254",
    "address6": "2001:db8:1234:5678::fffe",
    "announcer": "cloudlet-torino-west",
    "applied_at": "2026-01-31T12:34:56.789Z",
    "drivers": ["container", "libvirt", "qemu"],
    "files": {"disk.qcow2": "a" * 64, "initramfs": "b" * 64, "kernel": "c" * 64},
    "applied_by": "oidc:ana.example@id.example.org",
    "at": "2026-01-31T12:34:56.789Z",
    "available": 32766,
    "bits_per_second": 94_000_000,
    "blocks": 4096,
    "capacity": 32766,
    "client_id": "ff00000001000100012b3c4d5e02005e000001",
    "cloudlet": "cloudlet-torino-west",
    "condition": "unresponsive",
    "consent": {"state": "withdrawn", "by": "token acme-portal", "at": "2026-01-31T12:34:56Z"},
    "destination": "cloudlet-milano-east-lan",
    "detail": TEXT,
    "digest": "d" * 64,
    "done": 12_345_678_901,
    "total": 98_765_432_109,
    "missing": 12345,
    "details": {"size": 64, "label_base": 4097},
    "device": "ana-phone",
    "dropped_in": 0,
    "dropped_out": 123456,
    "endpoint": "cloudlet-torino-west-lan",
    "error": TEXT,
    "esp": "aes256gcm16-x25519-esn",
    "estimate": {"rtt_ms": 100.0, "seconds": 84.0},
    "excluded": 10,
    "family": "ipv6",
    "far": "cloudlet-milano-east-lan",
    "filename": "policies/examples/pools-of-the-region.yaml",
    "fingerprint": "ab" * 32,
    "generation": 123456,
    "has": "10.255.255.252",
    "held": {"verdict": "suspected"},
    "hostname": "anas-phone.example.org",
    "id": 12345,
    "issuer": "cd" * 32,
    "kind": "route-targets",
    "last_bytes": 12_345_678,
    "last_seconds": 12.5,
    "leased": 1234,
    "log": "/srv/build/lab/demo/logs/weft-routeserver-rs1.log",
    "mac": "02:00:5e:00:00:01",
    "macs": ["02:00:5e:00:00:01", "02:00:5e:00:00:02"],
    "managed_by_policy": True,
    "max_routes": None,
    "mtu": 1450,
    "near": "cloudlet-torino-west-lan",
    "rtt_ms": 12.3,
    "md": "10.255.255.252",
    "md6": "2001:db8:1234:5678::fffc",
    "members": [f"cloudlet-{name}-lan" for name in ("torino-west", "milano-east", "pisa", "siena", "lucca")],
    "method": "DELETE",
    "move": "move-0a1b2c3d4e",
    "name": "cloudlet-torino-west-lan",
    "neighbour": "cloudlet-milano-east",
    "next_hop": "198.51.100.17",
    "nlri": "[type:macadv][rd:65000:12][etag:0][mac:02:00:5e:00:00:01]",
    "packets": 123456789,
    "path": "/api/v1/vcps/blue/members/cloudlet-torino-west-lan",
    "peaks": [{"day": "2026-01-31", "leased": 1234}],
    "peer": "cloudlet-torino-west",
    "place": {"endpoint": "cloudlet-torino-west-lan"},
    "pool": "turin-and-milan",
    "prefix": "10.254.0.0/15",
    "prefix6": "2001:db8:1234:5678::/64",
    "reasons": [TEXT, TEXT],
    "route_server": "rs1",
    "routes": {
        **{name: {"l2vpn-evpn": 123456} for name in ("in", "accepted", "out", "withheld")},
        "quarantined": {"route-targets": 12, "limit": 3},
        "held": {"suspected": 2},
    },
    "totals": dict.fromkeys(
        ("routes_announced", "routes_withdrawn", "routes_sent", "withdrawals_sent", "poison_routes"), 123456
    ),
    "sent": [{"to": ["cloudlet-milano-east", "cloudlet-pisa"]}],
    "observed": "passes",
    "expected": "passes",
    "rt": "4200000000:17",
    "rts": ["4200000000:17", "4200000000:18", "4200000000:19"],
    "serial": "0a" * 20,
    "source": "cloudlet-torino-west-lan",
    "specification": "ipv6 from 2001:db8:1234:5678::/64 tcp to port 443",
    "state": "draining",
    "status": {"version": "0.1.0"},
    "to": "cloudlet-milano-east",
    "type": "member-joined-by-policy",
    "vm": {"mac": "02:00:5e:00:00:02", "client_id": "ff000000010001"},
    "vtep": "198.51.100.17",
    "who": "token acme-portal",
} | dict.fromkeys(("cause", "description", "forecast", "note", "reason", "text", "verdict_text", "why"), TEXT)


def tables() -> Iterator[tuple[str, list[Column]]]:
    """Yield the columns of all tables and cards."""
    for module in pkgutil.iter_modules(controller.cli.__path__):
        for name, value in vars(importlib.import_module(f"controller.cli.{module.name}")).items():
            if name.isupper() and not name.startswith("_"):
                for columns in value.values() if isinstance(value, dict) else [value]:
                    if isinstance(columns, list) and columns and all(map(is_column, columns)):
                        yield f"{module.name}.{name}", columns


def is_column(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and callable(value[1])


TABLES = list(tables())


def readable(lines: list[str], cells: list[str]) -> None:
    """Check that no line is too long and every cell is present; cells may fold only between words or items."""
    assert max(map(len, lines)) <= 80, max(lines, key=len)
    for cell in cells:
        parts = cell.split(", ") if isinstance(cell, Items) else cell.split() if isinstance(cell, Prose) else [cell]
        for part in parts:
            assert any(part in line for line in lines), f"{part!r} is split or lost:\n" + "\n".join(lines)


def test_every_table_of_every_noun_is_found() -> None:
    assert len(TABLES) >= 45 and {name.split(".")[0] for name, _ in TABLES} >= {"leases", "routes", "moves", "held"}


@pytest.mark.parametrize(("name", "columns"), TABLES, ids=[f"{name}-{n}" for n, (name, _) in enumerate(TABLES)])
def test_every_table_is_readable_in_80_columns(terminal: Terminal, name: str, columns: list[Column]) -> None:
    cells = [plain(get(ROW)) for _, get in columns]
    output.rows([ROW, ROW], columns, "")
    readable(terminal.lines, cells)
    shown = len(terminal.lines)
    output.card(ROW, columns)
    readable(terminal.lines[shown:], cells)


@pytest.mark.parametrize("line", [line for line, *_ in LISTS])
def test_every_list_is_readable(controller: Controller, terminal: Terminal, line: str) -> None:
    noun = next(noun for asked, noun, *_ in LISTS if asked == line)
    controller.answers["GET", f"/api/v1/{noun}"] = {"items": [ROW, ROW], "next": None}
    assert run(line.split()) == 0
    assert max(map(len, terminal.lines)) <= 80
    assert not any(line.endswith("…") for line in terminal.lines)


@pytest.mark.parametrize("line", [line for line, *_ in ACTIONS if " show " in line] + ["move predict web c2-lan"])
def test_every_card_is_readable(controller: Controller, terminal: Terminal, line: str) -> None:
    method, path = next((method, path) for asked, method, path, *_ in ACTIONS if asked == line)
    controller.answers[method, path] = PREDICTION if "predict" in line else ROW | {"disk": None}
    assert run(line.split()) == 0
    table = terminal.lines[:9] if "predict" in line else terminal.lines
    assert max(map(len, table)) <= 80


def test_a_table_is_kept_as_long_as_it_can_be() -> None:
    titles = ["NAME", "ADDRESS6", "WHY"]
    rows = [["blue", NOTHING, Prose("one two three four five six seven")], ["red", NOTHING, Prose("short")]]

    def shown(room: int | None) -> list[str]:
        return ["".join(line) for line in as_table(titles, rows, room)]

    assert shown(None) == shown(80)
    assert shown(None)[0] == "NAME  ADDRESS6  WHY" and shown(None)[2] == "red   -         short"
    assert shown(40) == ["NAME  WHY", "blue  one two three four five six seven", "red   short"], "empty columns go"
    assert shown(30) == ["NAME  WHY", "blue  one two three four five", "      six seven", "red   short"], "texts fold"
    assert shown(25) == [
        "NAME  blue",
        "WHY   one two three four",
        "      five six seven",
        "",
        "NAME  red",
        "WHY   short",
    ], "a record for each row"
    assert as_record(["SERIAL"], ["0a" * 60], 80)[0][-1] == "0a" * 60, "what no terminal is wide enough for stays whole"


def test_lists_fold_between_items_only() -> None:
    lines = ["".join(line) for line in as_table(["V", "L"], [["x", plain(["a b c"] * 5)]], 30)]
    assert lines[1:] == ["x  a b c, a b c, a b c, a b c,", "   a b c"]
    lines = ["".join(line) for line in as_table(["V", "L"], [["x", plain(["a b c"] * 5)]], 29)]
    assert lines[1:] == ["x  a b c, a b c, a b c,", "   a b c, a b c"]


def test_routes_say_their_labels() -> None:
    label = dict(COLUMNS[Table.ADJ_IN])["LABEL"]
    block = {"details": {"ve_id": 1, "offset": 1, "size": 64, "label_base": 4097}}
    given: list[Row] = [block, {"details": {"prefix": "10.0.0.0/8", "label": 16}}, {"details": {"type": 3}}, {}]
    assert [plain(label(row)) for row in given] == ["4097-4160", "16", "-", "-"]


def test_wide_characters_count_twice(terminal: Terminal) -> None:
    output.table(["NAME", "STATE"], [["日本", "up"], ["c1", "up"]])
    assert terminal.lines == ["NAME  STATE", "日本  up", "c1    up"]


def sent(terminal: Terminal) -> str:
    output.table(["", "NAME", "STATE"], [[toned("✓"), "c1", toned("active")], [toned("✗"), "c2", toned("down")]])
    output.say("+ VCP blue", "- VCP red", "    ✓ announced by c1", "nothing - at all")
    output.difference("--- 1\n+++ 2\n@@ -1 +1 @@\n-was\n+is\n same\n")
    return terminal.getvalue()


def test_signs_and_states_have_colours_on_a_terminal(terminal: Terminal) -> None:
    found = sent(terminal)
    for text in ("32m✓", "32mactive", "1;31m✗", "1;31mdown", "32m+", "1;31m-", "32m+is", "1;31m-was"):
        assert f"\x1b[{text}\x1b[0m" in found, text
    assert "\nnothing - at all\n" in found and "\n same\n" in found


@pytest.mark.parametrize("name", [("NO_COLOR", "1"), ("NO_COLOR", "0"), ("TERM", "dumb")])
def test_the_environment_turns_colours_off(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, name: tuple[str, str]
) -> None:
    monkeypatch.setenv(*name)
    assert "\x1b" not in sent(terminal)
    assert terminal.lines[1] == "✓  c1    active"


def test_an_empty_no_color_is_none(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    assert "\x1b[32m" in sent(terminal)


def test_pipes_have_no_colours_unless_asked_for(
    controller: Controller, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    controller.answers["GET", "/api/v1/cloudlets"] = {"items": [ROW], "next": None}
    for given, painted in (([], False), (["--color", "always"], True), (["--color", "never"], False)):
        assert run(["cloudlet", "list", *given]) == 0
        assert ("\x1b[33mdraining" in capsys.readouterr().out) is painted
    assert run(["--color", "always", "cloudlet", "list", "-o", "json"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_never_is_never(controller: Controller, terminal: Terminal) -> None:
    controller.answers["GET", "/api/v1/cloudlets"] = {"items": [ROW], "next": None}
    assert run(["cloudlet", "list", "--color", "never"]) == 0
    assert "\x1b" not in terminal.getvalue()
