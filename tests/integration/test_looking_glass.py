"""The looking glass from the command line, with real route servers and PEs that announce."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lab.patience import until
from tests.integration.plain_pe import PlainPe
from tests.integration.route_servers import World, world

pytestmark = pytest.mark.lab


@pytest.fixture
def region(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def established(region: World, server: int, peer: str) -> bool:
    sessions = region.servers[server].get("/v1/status")["sessions"]
    return any(s["peer"] == peer and s["state"] == "established" for s in sessions)


def read(watch: "subprocess.Popen[str]", *wanted: str) -> list[Any]:
    """Read the next changes; check that they are `wanted`, in any order, each as 'server kind peer>to'."""
    assert watch.stdout is not None
    found = [json.loads(watch.stdout.readline()) for _ in wanted]
    said = [
        f"{c['route_server']} {c['kind']}" + (f" {c['peer']}>{c.get('to', '')}" if "nlri" in c else "") for c in found
    ]
    assert sorted(said) == sorted(wanted)
    return found


@pytest.mark.smoke
def test_routes_are_watched_at_both_route_servers(region: World) -> None:
    one, two = ((server.address, server.port) for server in region.servers)
    with (
        closing(PlainPe("127.0.78.11", one)) as at_one,
        closing(PlainPe("127.0.78.12", one)),
        closing(PlainPe("127.0.78.11", two)) as at_two,
        region.spawn("route", "watch", "-o", "json") as everything,
        region.spawn("route", "watch", "--route-server", "rs1", "--peer", "c2", "-o", "json") as of_c2,
    ):
        read(everything, "rs1 watching", "rs2 watching")
        read(of_c2, "rs1 watching")
        at_one.announce(site=1, target=1)
        at_two.announce(site=1, target=1)
        read(everything, "rs1 announced c1>", "rs2 announced c1>")
        until(lambda: established(region, 0, "c2"), "the session of c2")
        region.weft("vcp", "join", "blue", "c2-lan", code=None)
        (sent,) = read(everything, "rs1 sent c1>c2")
        assert sent["rts"] == ["65000:2"] and sent["endpoint"] == "c1-lan"
        read(of_c2, "rs1 sent c1>c2")
        at_one.announce(site=1, target=3)
        quarantined = read(everything, "rs1 quarantined c1>", "rs1 unsent c1>c2")
        assert "foreign-rt" in [c.get("reason") for c in quarantined]
        region.servers[1].kill()
        assert read(everything, "rs2 lost")[0]["text"]
        region.servers[1].start()
        read(everything, "rs2 watching")
        for watch in (everything, of_c2):
            watch.send_signal(signal.SIGINT)
            assert watch.wait(20) == 130 and watch.stderr is not None and watch.stderr.read() == ""
        assert region.weft("route", "watch", "--route-server", "rs9", code=3).stderr.count("rs9")
        assert "prefix" in region.weft("route", "watch", "--prefix", "10.0.0.1/8", code=3).stderr


def test_a_reader_that_goes_away(region: World) -> None:
    with region.spawn("route", "watch") as watch:
        assert watch.stdout is not None and watch.stderr is not None
        assert "watching" in watch.stdout.readline() + watch.stdout.readline()
        watch.stdout.close()
        region.servers[1].kill()  # something to write
        assert watch.wait(20) == 141 and watch.stderr.read() == "", "as a shell tells it of others"


def test_generations_and_tables(region: World) -> None:
    with closing(PlainPe("127.0.78.11", (region.servers[0].address, region.servers[0].port))) as pe:
        pe.announce(site=1, target=1)
        before = region.json("change", "list", "--limit", "1")[0]["generation"]
        until(lambda: region.json("route", "list"), "the route")
        after = region.json("vcp", "join", "blue", "c2-lan", code=None)["generation"]
        told = region.weft("route", "diff", "--from", str(before), "--to", str(after)).stdout
        assert f"rs1: generation {before} → {after}, routes as they are announced now: 1 appear, 0 disappear" in told
        assert "+ c2-lan joins blue" in told and "rs2: generation" in told
        (route,) = region.json("route", "diff", "--from", str(after), "--to", str(before))["route_servers"][0]["routes"]
        assert (route["kind"], route["peer"], route["to"]) == ("disappears", "c1", "c2")
        assert (route["from_rts"], route["to_rts"]) == (["65000:2"], [])
        (pooled,) = region.json("route", "list", "--table", "pools", "--vcp", "blue")
        assert pooled["pool"] == "blue" and pooled["endpoint"] == "c1-lan"
        unknown = region.weft("route", "diff", "--from", "7000", "--to", str(after), code=3)
        assert "generation 7000 is not known" in unknown.stderr and f"to {after}" in unknown.stderr
        region.servers[1].kill()
        region.servers[1].start()
        region.in_step()
        partly = region.weft("route", "diff", "--from", str(before), "--to", str(after)).stdout
        assert "1 appear" in partly and f"rs2: generation {before} is not known here" in partly
        pe.announce(site=1, target=3)
        until(lambda: region.json("route", "list", "--table", "quarantine", "--reason", "foreign-rt"), "it")
        assert region.json("route", "list", "--table", "quarantine", "--reason", "duplicate") == []
        assert region.json("route", "list", "--table", "quarantine", "--endpoint", "c1-lan")
        assert "reason" in region.weft("route", "list", "--reason", "no-rt", code=3).stderr
    for arguments in (["--from", "1"], [], ["c1", "--to", "4"]):
        assert region.weft("route", "diff", *arguments, code=2).stderr.startswith("weft: give a PEER")


def test_a_route_is_shown_and_counted_and_a_session_reset(region: World) -> None:
    one = (region.servers[0].address, region.servers[0].port)
    with closing(PlainPe("127.0.78.11", one)) as first, closing(PlainPe("127.0.78.12", one)):
        first.announce(site=1, target=1)
        until(lambda: established(region, 0, "c2") and region.json("route", "list"), "the route, and the session of c2")
        region.weft("vcp", "join", "blue", "c2-lan", code=None)
        (route,) = region.json("route", "list")
        shown = region.weft("route", "show", route["nlri"], "--all").stdout
        assert "from c1 of endpoint c1-lan: accepted" in shown and "c2, route targets 65000:2: sent" in shown
        assert region.json("route", "show", route["key"])["route_servers"][0]["paths"][0]["nlri"] == route["nlri"]
        counts = {(c["route_server"], c["peer"]): c["routes"] for c in region.json("route", "counts")}
        assert counts["rs1", "c1"]["accepted"]["l2vpn-vpls"] == 1 and counts["rs1", "c2"]["out"]["l2vpn-vpls"] == 1
        found = region.weft("route", "lookup", "10.1.0.5").stdout
        assert "no route leads to 10.1.0.5" in found and "rs1: 1 VPLS routes have no addresses" in found
        refused = region.weft("route", "refresh", "c1", "--route-server", "rs1", code=3).stderr
        assert "route refresh (RFC 2918)" in refused
        sent = region.json("route", "refresh", "c2", "--direction", "out", "--route-server", "rs1")["route_servers"]
        assert "l2vpn-vpls" in sent[0]["resent"]
        (reset,) = region.json("route", "reset", "c1", "--text", "a test")["route_servers"]
        assert (reset["route_server"], reset["was"], reset["prefixes_in"]) == ("rs1", "established", 1)
        until(lambda: not region.json("route", "list"), "the end of its routes")
        events = {event["type"] for event in region.json("event", "list")}
        assert {"reset", "refresh"} <= events


def in_short(answer: Any) -> list[Any]:
    """Return the changes that the route servers sent or would send, without the times."""
    return sorted(
        [
            r["route_server"],
            r["generation"],
            r["previous"],
            [(p["peer"], p["announced"], p["withdrawn"]) for p in r["peers"]],
        ]
        for r in answer["route_servers"]
    )


def test_a_rehearsal_says_what_comes_true(region: World, tmp_path: Path) -> None:
    one = (region.servers[0].address, region.servers[0].port)
    policy = tmp_path / "pools.yaml"
    policy.write_text("apiVersion: weft/v1\nvcps:\n  green:\n    members: [c1-lan, c3-lan]\n")
    with (
        closing(PlainPe("127.0.78.11", one)) as first,
        closing(PlainPe("127.0.78.12", one)) as second,
        closing(PlainPe("127.0.78.13", one)) as third,
    ):
        for number, pe in enumerate((first, second, third), 1):
            pe.announce(site=number, target=number)
        until(lambda: len(region.json("route", "list", "--route-server", "rs1")) == 3, "three routes")
        for command in (
            ["vcp", "join", "blue", "c2-lan"],
            ["vcp", "join", "blue", "c3-lan", "--confirm-within", "600"],
            ["vcp", "leave", "blue", "c1-lan"],
            ["policy", "apply", str(policy)],
            ["endpoint", "remove", "c2-lan"],
            ["cloudlet", "drain", "c3"],
        ):
            rehearsed = region.json(*command, "--dry-run")
            real = region.json(*command, code=None)
            assert in_short(rehearsed) == in_short(real) and rehearsed["generation"] == real["generation"]
            assert sum(r["announced"] + r["withdrawn"] for r in real["route_servers"]) > 0, command
            assert [a["cloudlet"] for a in rehearsed["agents"]] == [a["cloudlet"] for a in real["agents"]]
            if real["confirm_by"]:
                region.weft("change", "confirm")
