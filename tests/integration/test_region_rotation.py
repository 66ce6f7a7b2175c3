"""Certificates are renewed, the intermediate and the root are rotated, and every peer authenticates with its new
credentials, under traffic: no packet is lost, no session is reset, and no secret is sent in the clear."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from controller.trust.ceremony import NEXT, ROOT_KEY
from lab.paths import LAB
from lab.patience import until
from lab.rest import Rest
from tests.integration import encrypted_region
from tests.integration.encrypted_region import BOTH, chatter, pinged, tunnels, up, wire
from tests.integration.rotation import AUTHORITY, Rotation

reason = encrypted_region.usable()
pytestmark = [pytest.mark.lab, pytest.mark.skipif(reason is not None, reason=reason or "")]

LIFETIME = 80
"""The lifetime of a certificate in seconds: every agent gets its next one after 40 to 48 s."""

SETTLED = 6
"""Seconds after which agents and charons have read the new files, and the last old keys are gone."""


@pytest.fixture(scope="module")
def rotation() -> Iterator[Rotation]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "WEFT_CERTIFICATE_SECONDS", str(LIFETIME))  # the controller's environment is ours too
        with encrypted_region.region() as region, Rest(timeout=60) as rest:
            region.apply_policy()
            until(lambda: pinged(region) and up(rest) == BOTH, lambda: tunnels(rest), 40)
            yield Rotation(region, rest)


@contextmanager
def undisturbed(rotation: Rotation) -> Iterator[None]:
    """Check that during the block nothing is lost, no session restarts, and nothing is in the clear."""
    before = rotation.sessions()
    with wire(rotation.region), chatter(rotation.region) as lost:
        yield
    assert max(lost) == 0, lost
    assert rotation.sessions() == before
    assert up(rotation.rest) == BOTH


def proved(rotation: Rotation) -> None:
    """Make all ends authenticate again with their present credentials, beside the present tunnels."""
    with undisturbed(rotation):
        rotation.prove()
        time.sleep(SETTLED)


def test_certificates_are_renewed(rotation: Rotation) -> None:
    with undisturbed(rotation):
        numbers, before = rotation.numbers(), rotation.certificates()
        until(lambda: not set(before) & set(rotation.certificates()), seconds=LIFETIME)
        time.sleep(SETTLED)
        assert rotation.numbers() == numbers, "a renewal disturbs no IKE_SA"
    proved(rotation)


def test_a_new_intermediate(rotation: Rotation) -> None:
    numbers = rotation.numbers()
    with undisturbed(rotation):
        rotation.ca("rotate", "--root-key", str(AUTHORITY / ROOT_KEY))
        until(lambda: rotation.trusting(3) and rotation.issued(), rotation.identities, 60)
        time.sleep(SETTLED)
        assert rotation.numbers() == numbers
    proved(rotation)
    with undisturbed(rotation):
        rotation.ca("finish", "--force")
        until(lambda: rotation.trusting(2), rotation.identities, 20)
        time.sleep(SETTLED)
    proved(rotation)


def test_a_new_root(rotation: Rotation) -> None:
    numbers = rotation.numbers()
    with undisturbed(rotation):
        rotation.ca("rotate", "--new-root")
        until(lambda: rotation.trusting(4), rotation.identities, 20)
        shutil.move(AUTHORITY / NEXT / ROOT_KEY, LAB / "controller" / ROOT_KEY)
        rotation.ca("switch")
        until(rotation.issued, rotation.identities, 60)
        time.sleep(SETTLED)
        assert rotation.numbers() == numbers
    proved(rotation)
    with undisturbed(rotation):
        rotation.ca("finish", "--force")
        until(lambda: rotation.trusting(2), rotation.identities, 20)
        time.sleep(SETTLED)
    proved(rotation)
