"""The agent's key and certificate: which files are kept, and which are not."""

import asyncio
import base64
import grp
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from agents.controller.client import Controller as Door
from agents.identity import Identity, x509
from agents.identity.x509 import Unfit
from agents.storage.state import StateError
from controller.trust.authority import Reason, Revoked
from controller.trust.builtin import BuiltIn
from controller.wire.certificates import Certified
from tests.unit.controller.test_identity import authority, running


def made(path: Path, cloudlet: str, key: str) -> Certified:
    """Return the certificate that an authority would issue."""
    issuing = BuiltIn.read(path)
    issued = asyncio.run(issuing.issue(x509.request(key, cloudlet), cloudlet, "192.0.2.1", timedelta(days=1)))
    return Certified(certificate=issued.certificate, chain=issuing.chain)


def test_what_is_not_ours_is_not_kept(tmp_path: Path) -> None:
    root, foreign = authority(tmp_path), authority(tmp_path, "foreign")
    key, other = x509.new_key(), x509.new_key()
    mine, theirs = made(root, "c1", key), made(foreign, "c1", key)
    assert x509.check(key, mine.certificate, mine.chain, "c1").end > datetime.now(UTC)

    def unfit(reason: str, certified: Certified, key: str = key) -> None:
        with pytest.raises(Unfit, match=reason) as caught:
            x509.check(key, certified.certificate, certified.chain, "c1")
        assert "PRIVATE" not in str(caught.value)

    unfit("is another's", made(root, "c2", key))
    unfit("for another key", mine, other)
    unfit("does not lead", mine.model_copy(update={"chain": theirs.chain}))
    unfit(
        "does not lead",
        mine.model_copy(
            update={"chain": mine.chain.split("-----END CERTIFICATE-----\n")[0] + "-----END CERTIFICATE-----\n"}
        ),
    )
    unfit("not certificates as they should be", mine.model_copy(update={"chain": ""}))
    unfit("not certificates as they should be", mine.model_copy(update={"certificate": "x"}))
    unfit("no private key", mine, "x")


def flipped(text: str, label: str) -> Iterator[str]:
    """Yield the PEM text with a different single bit changed each time."""
    der = base64.b64decode("".join(text.splitlines()[1:-1]))
    for bit in range(len(der) * 8):
        changed = bytearray(der)
        changed[bit // 8] ^= 1 << bit % 8
        yield f"-----BEGIN {label}-----\n{base64.encodebytes(changed).decode()}-----END {label}-----\n"


ODD = pytest.mark.filterwarnings("ignore:Parsed a serial number:cryptography.utils.CryptographyDeprecationWarning")


@ODD
def test_one_bit_of_difference_makes_a_certificate_unfit_or_changes_nothing(tmp_path: Path) -> None:
    key = x509.new_key()
    mine = made(authority(tmp_path), "c1", key)
    good = x509.check(key, mine.certificate, mine.chain, "c1")
    for certificate in flipped(mine.certificate, "CERTIFICATE"):
        with suppress(Unfit):
            assert x509.check(key, certificate, mine.chain, "c1") == good


@ODD
def test_one_bit_of_difference_makes_a_revocation_list_unfit_or_changes_nothing(tmp_path: Path) -> None:
    issuing = BuiltIn.read(authority(tmp_path))
    revoked = [Revoked("0f", datetime.now(UTC), Reason.COMPROMISED)]
    crl = asyncio.run(issuing.crl(revoked))
    assert x509.revoked(crl) == {0x0F}
    x509.check_lists(crl, issuing.chain)
    for changed in flipped(crl, "X509 CRL"):
        with suppress(Unfit):
            x509.check_lists(changed, issuing.chain)
            assert x509.revoked(changed) == {0x0F}


def test_a_directory_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "identity").write_text("")
    with pytest.raises(StateError, match="state_dir"):
        Identity("c1", Door("http://nowhere"), tmp_path / "identity")


def test_a_group_may_read_it_until_it_may_not(tmp_path: Path) -> None:
    group, directory = grp.getgrgid(os.getgid()).gr_name, tmp_path / "identity"

    def modes() -> dict[str, str]:
        return {path.name: f"{path.stat().st_mode & 0o777:o}" for path in (directory, *directory.iterdir())}

    Identity("c1", Door("http://nowhere"), directory).request()
    assert modes() == {"identity": "700", "key.pem": "600"}
    Identity("c1", Door("http://nowhere"), directory, group).request()
    assert modes() == {"identity": "750", "key.pem": "640"}
    Identity("c1", Door("http://nowhere"), directory)
    assert modes() == {"identity": "700", "key.pem": "600"}
    with pytest.raises(StateError, match="identity_group: there is no group weft-nobody"):
        Identity("c1", Door("http://nowhere"), directory, "weft-nobody")


async def test_a_controller_without_an_authority_is_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(404, json={"detail": "there is no authority"})

    async with Door("http://controller", transport=httpx.MockTransport(handler)) as door:
        one = Identity("c1", door, tmp_path / "identity")
        async with running(one):
            await asyncio.sleep(0.3)
        assert asked == ["/api/v1/agent/certificate"] and one.problem is None
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
