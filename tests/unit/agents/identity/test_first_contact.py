"""An attacker between an agent and its controller while the agent enrols over HTTP. The token names the root, so that
no other authority is accepted: charon would trust every certificate that such an authority signs."""

import json
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from agents.controller.client import Controller as Door
from agents.identity import Identity, x509
from agents.identity.enrolment import EnrolmentError, credential
from agents.identity.x509 import Unfit
from agents.ipsec import credentials
from agents.storage.state import StateDirectory
from controller.core.tokens import pinned
from controller.trust.builtin import BuiltIn
from controller.wire.certificates import Certified
from tests.unit.controller.test_identity import authority


class Between:
    """The attacker: answers for the controller, names `shown` as the trusted authority, and issues certificates of
    `issuing`."""

    def __init__(self, shown: BuiltIn, issuing: BuiltIn) -> None:
        self.shown, self.issuing, self.tokens = shown, issuing, list[str]()

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/v1/enrolments/authorities":
            return httpx.Response(200, json={"authorities": self.shown.authorities})
        assert request.url.path == "/api/v1/enrolments"
        asked = json.loads(request.content)
        self.tokens.append(asked["token"])
        issued = await self.issuing.issue(asked["csr"], "c1", "192.0.2.1", timedelta(days=1))
        certified = {"certificate": issued.certificate, "chain": self.issuing.chain}
        answer = {"cloudlet": "c1", "credential": asked["credential"], "state": "active", "certified": certified}
        return httpx.Response(201, json=answer)


async def enrol(path: Path, between: Between, token: str) -> Identity:
    (path / "token").write_text(token)
    async with Door("http://controller", transport=httpx.MockTransport(between)) as door:
        identity = Identity("c1", door, path / "state/identity")
        await credential(door, StateDirectory(path / "state", "c1"), identity, "c1", path / "token", "1")
    return identity


def held(path: Path) -> set[str]:
    return {file.name for file in (path / "state").rglob("*") if file.is_file()}


def believed(path: Path) -> str:
    """Return the authorities that charon is told to trust."""
    return b"".join(credentials.read(path / "state/identity").authorities).decode()


async def test_the_root_of_the_token_is_kept_over_http_too(tmp_path: Path) -> None:
    ours = BuiltIn.read(authority(tmp_path))
    identity = await enrol(tmp_path, Between(ours, ours), pinned("secret", ours.fingerprint))
    assert identity.validity is not None and x509.roots(identity.trusted or "") == {ours.fingerprint}
    assert x509.roots(believed(tmp_path)) == {ours.fingerprint}
    assert "credential.json" in held(tmp_path)


async def test_who_shows_another_root_does_not_even_get_the_token(tmp_path: Path) -> None:
    ours, foreign = BuiltIn.read(authority(tmp_path)), BuiltIn.read(authority(tmp_path, "foreign"))
    between = Between(foreign, foreign)
    with pytest.raises(EnrolmentError, match="not the one that the token is from: the root that the token names"):
        await enrol(tmp_path, between, pinned("secret", ours.fingerprint))
    assert between.tokens == [] and held(tmp_path) == {"key.pem", "proposed"}


async def test_who_shows_the_right_root_and_issues_by_another_is_found_out(tmp_path: Path) -> None:
    ours, foreign = BuiltIn.read(authority(tmp_path)), BuiltIn.read(authority(tmp_path, "foreign"))
    with pytest.raises(EnrolmentError, match="not the one that the token is from: the chain leads to a root"):
        await enrol(tmp_path, Between(ours, foreign), pinned("secret", ours.fingerprint))
    assert held(tmp_path) == {"key.pem", "proposed", "authorities.pem"}
    assert x509.roots((tmp_path / "state/identity/authorities.pem").read_text()) == {ours.fingerprint}


async def test_without_a_root_in_the_token_it_would_be_charons(tmp_path: Path) -> None:
    """This attack is the reason for the root in the token."""
    foreign = BuiltIn.read(authority(tmp_path, "foreign"))
    await enrol(tmp_path, Between(foreign, foreign), "secret")
    assert x509.roots(believed(tmp_path)) == {foreign.fingerprint}


async def test_later_certificates_come_from_whom_is_trusted(tmp_path: Path) -> None:
    ours, foreign = BuiltIn.read(authority(tmp_path)), BuiltIn.read(authority(tmp_path, "foreign"))
    identity = await enrol(tmp_path, Between(ours, ours), pinned("secret", ours.fingerprint))
    before = (tmp_path / "state/identity/certificate.pem").read_text()
    key = (tmp_path / "state/identity/key.pem").read_text()
    issued = await foreign.issue(x509.request(key, "c1"), "c1", "192.0.2.1", timedelta(days=1))
    with pytest.raises(Unfit, match="a root that is not trusted here"):
        identity.take(Certified(certificate=issued.certificate, chain=foreign.chain))
    assert (tmp_path / "state/identity/certificate.pem").read_text() == before
