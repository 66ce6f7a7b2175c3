"""The controller's own authority, checked by OpenSSL."""

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from controller.settings import BadSettings
from controller.trust import builtin, ceremony
from controller.trust.authority import AuthorityAway, Issued, Reason, Revoked
from controller.trust.builtin import BuiltIn
from controller.trust.ceremony import NotMade
from tests.unit.trust.requests import csr

NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "authority"
    ceremony.init(made, "test", NOW)
    return made


async def issue(directory: Path, request: str | None = None, lifetime: timedelta = DAY) -> Issued:
    return await BuiltIn.read(directory).issue(request or csr("c1"), "c1", "192.0.2.1", lifetime)


def verified(path: Path, directory: Path, issued: Issued, *options: str) -> str:
    """Return the verdict of `openssl verify` on a certificate, with only the root trusted."""
    authority = BuiltIn.read(directory)
    (path / "leaf.pem").write_text(issued.certificate)
    (path / "chain.pem").write_text(authority.chain)
    command = ["openssl", "verify", "-x509_strict", "-CAfile", str(directory / "root.pem"), "-no-CApath"]
    command += ["-untrusted", str(path / "chain.pem"), *options, str(path / "leaf.pem")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return "OK" if done.returncode == 0 else done.stderr


async def test_openssl_agrees_with_name_address_and_use(tmp_path: Path, directory: Path) -> None:
    issued = await issue(directory)
    for options in (
        ("-purpose", "sslclient"),
        ("-purpose", "sslserver"),
        ("-verify_hostname", "c1"),
        ("-verify_ip", "192.0.2.1"),
    ):
        assert verified(tmp_path, directory, issued, *options) == "OK"
    assert "hostname mismatch" in verified(tmp_path, directory, issued, "-verify_hostname", "c2")
    assert "IP address mismatch" in verified(tmp_path, directory, issued, "-verify_ip", "192.0.2.2")
    later = str(int((datetime.now(UTC) + DAY + timedelta(minutes=1)).timestamp()))
    assert "expired" in verified(tmp_path, directory, issued, "-attime", later)


async def test_another_authority_is_another(tmp_path: Path, directory: Path) -> None:
    foreign = tmp_path / "foreign"
    ceremony.init(foreign, "test", NOW)
    assert "unable to get local issuer" in verified(tmp_path, directory, await issue(foreign))


async def test_what_a_request_asks_for_is_not_granted(directory: Path) -> None:
    issued = await issue(directory, csr("c1", uri="weft://cloudlet/c2"))
    leaf = x509.load_pem_x509_certificate(issued.certificate.encode())
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.UniformResourceIdentifier) == ["weft://cloudlet/c1"]
    assert names.get_values_for_type(x509.DNSName) == ["c1"]
    assert leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False
    assert f"{leaf.serial_number:040x}" == issued.serial


async def test_a_cloudlet_is_no_authority(tmp_path: Path, directory: Path) -> None:
    """A certificate that is signed with a cloudlet's key is not valid."""
    from controller.trust.x509 import Signer, leaf, new_key, read_certificate, read_request
    from tests.unit.trust.requests import csr as request

    key = new_key()
    theirs = await issue(directory, request("c1", key=key))
    signer = Signer(key, read_certificate(theirs.certificate))
    forged = leaf(signer, read_request(csr("c2")), "c2", "192.0.2.2", NOW - DAY, NOW + DAY)
    (tmp_path / "between.pem").write_text(theirs.certificate)
    assert "invalid CA certificate" in verified(
        tmp_path, directory, forged, "-untrusted", str(tmp_path / "between.pem")
    )


async def test_the_revocation_list(tmp_path: Path, directory: Path) -> None:
    good, bad = await issue(directory), await issue(directory)
    entry = Revoked(bad.serial, NOW, Reason.COMPROMISED)
    (tmp_path / "crl.pem").write_text(await BuiltIn.read(directory).crl([entry]))
    with_list = ("-crl_check", "-CRLfile", str(tmp_path / "crl.pem"))
    assert verified(tmp_path, directory, good, *with_list) == "OK"
    assert "certificate revoked" in verified(tmp_path, directory, bad, *with_list)


async def test_certificates_end_with_the_intermediate(
    tmp_path: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = BuiltIn.read(directory).not_after
    monkeypatch.setattr(builtin, "now", lambda: end - timedelta(hours=1))
    issued = await issue(directory)
    assert issued.not_after == end
    monkeypatch.setattr(builtin, "now", lambda: end)
    with pytest.raises(AuthorityAway, match="weft-controller ca renew"):
        await issue(directory)
    with pytest.raises(AuthorityAway):
        await BuiltIn.read(directory).crl([])
    (directory / "root-key.pem").rename(tmp_path / "drawer.pem")
    ceremony.renew(directory, tmp_path / "drawer.pem", end)
    later = await issue(directory)
    assert later.not_after == end + DAY
    assert verified(tmp_path, directory, later, "-attime", str(int(end.timestamp()) + 60)) == "OK"


def test_keys_are_for_their_owner_only_and_made_once(tmp_path: Path, directory: Path) -> None:
    assert directory.stat().st_mode & 0o777 == 0o700
    before = {path.name: path.read_text() for path in directory.iterdir()}
    assert sorted(before) == ["intermediate.pem", "root-key.pem", "root.pem"]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in directory.iterdir())
    with pytest.raises(NotMade, match="is there already"):
        ceremony.init(directory, "test", NOW)
    foreign = tmp_path / "foreign"
    ceremony.init(foreign, "test", NOW)
    with pytest.raises(NotMade, match="the key is not that of the certificate"):
        ceremony.renew(directory, foreign / "root-key.pem", NOW)
    with pytest.raises(NotMade, match="No such file"):
        ceremony.renew(directory, tmp_path / "nothing", NOW)
    assert {path.name: path.read_text() for path in directory.iterdir()} == before


def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, directory: Path) -> None:
    def refused(reason: str) -> None:
        with pytest.raises(BadSettings, match=reason) as caught:
            BuiltIn.read(directory)
        assert "PRIVATE" not in str(caught.value) and "\n" not in str(caught.value)

    foreign, intermediate = tmp_path / "foreign", directory / "intermediate.pem"
    ceremony.init(foreign, "test", NOW)
    kept = intermediate.read_text()
    intermediate.chmod(0o640)
    refused("others may read it")
    intermediate.chmod(0o600)
    intermediate.write_text((foreign / "intermediate.pem").read_text())
    refused("is not issued by")
    key, certificate = kept.split("-----BEGIN CERTIFICATE")
    intermediate.write_text((foreign / "root-key.pem").read_text() + "-----BEGIN CERTIFICATE" + certificate)
    refused("the key is not that of the certificate")
    intermediate.write_text(key)
    refused("no certificate in PEM")
    intermediate.unlink()
    refused("`weft-controller ca init .*` makes an authority")
