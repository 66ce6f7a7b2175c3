"""A whole region whose cloudlets encrypt: no VXLAN, no BGP and nothing of the API passes the emulated WAN in the clear,
whichever part fails."""

import shutil
import subprocess
import time
from collections.abc import Iterator

import pytest

from agents.images import layouts
from lab import daemons
from lab.containers.build import IMAGE, build
from lab.paths import ROOT
from lab.patience import until
from lab.region import Region
from lab.rest import Json, Rest
from tests.integration import encrypted_region
from tests.integration.encrypted_region import BGP, BOTH, bgp, chatter, pinged, reach, tunnels, up, wire

reason = encrypted_region.usable()
pytestmark = [pytest.mark.lab, pytest.mark.skipif(reason is not None, reason=reason or "")]


@pytest.fixture(scope="module")
def region() -> Iterator[Region]:
    with encrypted_region.region() as found:
        yield found


@pytest.fixture(scope="module")
def rest(region: Region) -> Iterator[Rest]:
    with Rest(timeout=60) as client:
        yield client


@pytest.mark.smoke
def test_a_pool_is_encrypted_from_its_first_frame_on(region: Region, rest: Rest) -> None:
    with wire(region), chatter(region):
        region.apply_policy()
        until(lambda: pinged(region), lambda: tunnels(rest), 30)
        until(lambda: up(rest) == BOTH, lambda: tunnels(rest), 10)
        assert not reach(region, "m1", "m3")
    one = rest.get("/tunnels/c1/c2")
    assert one["needed"] and one["alarm"] is None and one["esp"].startswith("AES_GCM_16_256")


def test_an_image_goes_by_the_tunnel(region: Region, rest: Rest) -> None:
    c1, c2 = (daemons.store(cloudlet) for cloudlet in region.topology.cloudlets[:2])
    shutil.copytree(build() / IMAGE, c1 / IMAGE)
    digest = layouts.stored(c1)[IMAGE]
    pools = (ROOT / "lab/topologies/small.policy.yaml").read_text()
    with wire(region):
        text = f"{pools}images:\n  {IMAGE}: {{digest: 'sha256:{digest}', cloudlets: [c2]}}\n"
        rest.apply_policy(text, "small.policy.yaml")
        until(lambda: layouts.stored(c2) == {IMAGE: digest}, lambda: rest.items(f"/images/{IMAGE}/stores"), 90)


def test_an_agent_that_is_killed_and_started_again(region: Region, rest: Rest) -> None:
    since = rest.get("/tunnels/c1/c2")["since"]
    with wire(region), chatter(region):
        for name in ("c1-agent", "e1-agent"):
            region.processes[name].kill()
            time.sleep(1)
            region.processes[name].start()
        until(lambda: rest.get("/tunnels/c1/c2")["at"] > since, seconds=40)
        until(lambda: up(rest) == BOTH, lambda: tunnels(rest), 40)
    assert pinged(region)


def test_a_charon_that_is_killed_is_an_alarm_until_it_is_back(region: Region, rest: Rest) -> None:
    def told(kind: str) -> list[Json]:
        return [event for event in rest.get("/events", limit="1000")["items"] if event["type"] == kind]

    with wire(region), chatter(region):
        region.processes["c1-charon"].kill()
        until(lambda: told("tunnel-down"), lambda: tunnels(rest), 40)
        (event, *_) = told("tunnel-down")
        assert event["subject"] == "c1 c2"
        weft = [str(ROOT / "build/venv/bin/weft")]
        listed = subprocess.run([*weft, "tunnel", "list", "--alarm"], capture_output=True, text=True, check=True).stdout
        assert "DOWN" in listed or "CONNECTING" in listed, listed
        doctor = subprocess.run([*weft, "doctor"], capture_output=True, text=True, check=False)
        assert doctor.returncode == 1 and "no encrypted tunnel to c2" in doctor.stdout, doctor.stdout
        region.processes["c1-charon"].start()
        until(lambda: pinged(region), lambda: tunnels(rest), 40)
        until(lambda: told("tunnel-up"), lambda: tunnels(rest), 40)
    assert up(rest) == BOTH


def test_new_keys_and_new_proofs(region: Region, rest: Rest) -> None:
    """charon does at once everything that it renews in the course of a day."""
    vici = f"unix://{daemons.vici(region.topology.cloudlets[0])}"
    since = rest.get("/tunnels/c1/c2")["since"]
    with wire(region), chatter(region):
        for what in (
            ["--rekey", "--child", "vtep"],
            ["--rekey", "--ike", "weft-c2"],
            ["--initiate", "--ike", "weft+c2"],
            ["--rekey", "--ike", "weft-c2", "--reauth"],
        ):
            done = subprocess.run(["swanctl", *what, "--uri", vici], capture_output=True, text=True, check=True)
            assert "rekey completed" in done.stdout or "initiate completed" in done.stdout, done.stdout
            time.sleep(6)
    assert up(rest) == BOTH and rest.get("/tunnels/c1/c2")["since"] == since


def test_a_tunnel_that_is_cut_is_not_gone_round(region: Region, rest: Rest) -> None:
    """A node on the path drops IKE and ESP, and lets everything else pass."""
    c1, c2 = (cloudlet.vtep for cloudlet in region.topology.cloudlets[:2])
    cut = "table ip weft-cut { chain forward { type filter hook forward priority filter; policy accept;\n"
    cut += f"ip saddr {{ {c1}, {c2} }} ip daddr {{ {c1}, {c2} }} udp dport {{ 500, 4500 }} drop\n}}\n}}\n"
    with wire(region), chatter(region):
        region.execute("core", ["nft", "-f", "-"], stdin=cut, check=True)
        until(lambda: not {("c1", "c2"), ("c2", "c1")} & up(rest), lambda: tunnels(rest), 60)
        assert not reach(region, "m1", "m2") and reach(region, "n1", "n2")
        region.execute("core", ["nft", "delete", "table", "ip", "weft-cut"], check=True)
        until(lambda: pinged(region), lambda: tunnels(rest), 60)
    until(lambda: up(rest) == BOTH, lambda: tunnels(rest), 40)


def test_bgp_comes_back_by_its_tunnel(region: Region, rest: Rest) -> None:
    """The other route server has the session meanwhile, so no ping is lost."""

    def sessions() -> set[tuple[str, str]]:
        servers = rest.get("/route-servers")["items"]
        return {(s["name"], p["peer"]) for s in servers for p in s["sessions"] if p["state"].lower() == "established"}

    def well() -> bool:
        return bgp(rest) == BGP and len(sessions()) == len(BGP) / 2

    until(well, lambda: (tunnels(rest), sessions()), 30)
    for name in ("rs1-charon", "rs1-agent", "rs1", "c1-gobgpd"):
        with wire(region), chatter(region) as lost:
            region.processes[name].kill()
            time.sleep(2)
            region.processes[name].start()
            time.sleep(2)
            until(well, lambda: (tunnels(rest), sessions()), 60)
        assert lost == [0, 0, 0, 0], name


def test_without_the_controller_it_goes_on(region: Region, rest: Rest) -> None:
    with wire(region), chatter(region) as lost:
        region.processes["controller"].kill()
        time.sleep(5)
        region.processes["controller"].start()
        until(rest.ready, seconds=60)
        until(lambda: rest.get("/doctor")["ok"], lambda: rest.get("/doctor"), 60)
        assert up(rest) == BOTH
    assert lost == [0, 0, 0, 0]


def test_who_leaves_has_no_tunnel(region: Region, rest: Rest) -> None:
    with wire(region):
        assert rest.delete("/vcps/blue/members/c2-lan")["in_force"]
        until(lambda: up(rest) == {("e1", "e2"), ("e2", "e1")}, lambda: tunnels(rest), 40)
        assert not reach(region, "m1", "m2")
        time.sleep(5)


def test_who_is_revoked_is_cut_off(region: Region, rest: Rest) -> None:
    """Within 2 s of the operator's command the cloudlet loses its tunnels (as its peers report them), its sessions and
    its pings."""

    def others() -> set[tuple[str, str]]:
        servers = rest.get("/route-servers")["items"]
        known = [(s["name"], p) for s in servers for p in s["sessions"]]
        sessions = {(name, p["peer"]) for name, p in known if p["state"].lower() == "established"}
        return {ends for ends in up(rest) | bgp(rest) | sessions if ends[1] == "e2"}

    serial = next(one["serial"] for one in rest.items("/certificates", cloudlet="e2") if one["standing"] == "good")
    with region.ping("n1", region.address("n2"), 0.02) as stream:
        assert stream.wait_reply(0, 10) is not None and len(others()) > 2
        with wire(region):
            rest.post(f"/certificates/{serial}/revoke", {"reason": "keyCompromise"})
            said = time.time()
            until(lambda: not others(), others, 10)
            ended = time.time() - said
            time.sleep(3)
        last = max(reply.at for reply in stream.replies()) - said
    assert max(ended, last) < 2, (ended, last)
    assert not reach(region, "n1", "n2") and not rest.items("/routes", peer="e2")
