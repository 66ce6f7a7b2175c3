"""Every BGP session of a region, with gobgpd or FRR, is signed, and gets a new key under traffic without loss."""

import os
import time
from collections.abc import Iterator

import pytest

from lab.paths import ROOT
from lab.patience import until
from lab.region import Region
from lab.rest import Json, Rest
from tests.integration.encrypted_region import chatter, pinged
from tests.integration.secrets_kept import secrets, told

pytestmark = pytest.mark.lab

SETTLED = 2
"""Seconds after which a route that was lost would be gone from a PE."""


SECRET = "ab" * 32


@pytest.fixture(scope="module")
def region(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Region]:
    secret = tmp_path_factory.mktemp("secret") / "session-secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "WEFT_SESSION_SECRET_FILE", str(secret))  # the controller's environment is ours too
        found = Region.load(ROOT / "lab/topologies/small.yaml")
        with found.occupied():
            for phase in (found.build, found.enrol, found.apply_policy, found.lease):
                phase(print)
            yield found


def signed(rest: Rest) -> bool:
    """Return whether every session is signed, as operators see it."""
    return all(one["sessions"] == {"rs1": "signed", "rs2": "signed"} for one in rest.items("/cloudlets"))


def begun(rest: Rest) -> dict[tuple[str, str], str]:
    """Return the time at which each established session began, by route server and PE."""
    servers: list[Json] = rest.get("/route-servers")["items"]
    return {(s["name"], p["peer"]): p["since"] for s in servers for p in s["sessions"] if p["state"] == "established"}


def test_other_keys_under_traffic(region: Region) -> None:
    with Rest(timeout=60) as rest:
        until(lambda: signed(rest) and pinged(region), lambda: rest.items("/cloudlets"), 60)
        until(lambda: rest.get("/doctor")["ok"], lambda: rest.get("/doctor"), 60)
        before = begun(rest)
        assert len(before) == 2 * len(region.topology.cloudlets)
        with chatter(region) as lost:
            for cloudlet in region.topology.cloudlets:
                rest.post(f"/cloudlets/{cloudlet.name}/session-keys", {})
            until(
                lambda: len(now := begun(rest)) == len(before) and not now.items() & before.items() and signed(rest),
                lambda: (rest.items("/cloudlets"), begun(rest)),
                60,
            )
            time.sleep(SETTLED)
        assert lost == [0, 0, 0, 0]
        until(lambda: rest.get("/doctor")["ok"], lambda: rest.get("/doctor"), 30)


def test_no_secret_is_in_a_log_or_a_list_of_processes(region: Region) -> None:
    with Rest(timeout=60) as rest:
        until(lambda: signed(rest), lambda: rest.items("/cloudlets"), 60)
    kept = secrets() | {"session secret": SECRET}
    kinds = ("control.token", "credential.json", "identity/key.pem", "authority/intermediate.pem", "frr.conf")
    assert all(any(kind in name for name in kept) for kind in kinds), sorted(kept)
    assert all(len(secret) >= 32 for secret in kept.values()), sorted(kept)
    assert told({"the name of a log's process": "agents.main"}), "nothing is read"
    assert not told(kept)
