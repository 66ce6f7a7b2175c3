"""An external authority: OpenSSL, in processes of its own. It issues certificates like the controller's authority, and
is away while its directory has a file `away`."""

import asyncio
import subprocess
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from controller.settings import BadSettings
from controller.trust.authority import AuthorityAway, Issued, Revoked
from controller.wire.certificates import CONTROLLER

CONF = """[ca]
default_ca = ours
[ours]
database = {here}/index.txt
new_certs_dir = {here}
certificate = {ca}/intermediate.pem
private_key = {ca}/intermediate-key.pem
rand_serial = yes
default_md = sha256
default_crl_days = 1
policy = any
[any]
commonName = supplied
[leaf]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
authorityKeyIdentifier = keyid
subjectAltName = {names}
"""
CA = """[req]
distinguished_name = name
[name]
[ca]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
"""


def make(directory: Path) -> None:
    """Create a root and an intermediate."""
    directory.mkdir()
    (directory / "ca.conf").write_text(CA)
    for name, subject in (("root", "/CN=somebody's root"), ("intermediate", "/CN=somebody's intermediate")):
        key, request = directory / f"{name}-key.pem", directory / f"{name}.csr"
        _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{key}")
        config = "-config", f"{directory}/ca.conf"
        _openssl("req", "-new", "-key", f"{key}", "-subj", subject, "-out", f"{request}", *config)
        by = ["-CA", f"{directory}/root.pem", "-CAkey", f"{directory}/root-key.pem"]
        if name == "root":
            by = ["-signkey", f"{key}"]
        words = (
            "-extfile",
            f"{directory}/ca.conf",
            "-extensions",
            "ca",
            "-days",
            "30",
            "-out",
            f"{directory}/{name}.pem",
        )
        _openssl("x509", "-req", "-in", f"{request}", *by, *words)


def _openssl(*words: str) -> str:
    done = subprocess.run(["openssl", *words], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


class OpenSSL:
    """The authority, with the interface of `Authority`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        try:
            self._texts = [(directory / f"{name}.pem").read_text() for name in ("intermediate", "root")]
        except OSError as error:
            raise BadSettings(f"WEFT_AUTHORITY: {error.filename}: {error.strerror}") from None

    @property
    def chain(self) -> str:
        return "".join(self._texts)

    @property
    def authorities(self) -> str:
        return self.chain

    @property
    def fingerprint(self) -> str:
        return x509.load_pem_x509_certificate(self._texts[1].encode()).fingerprint(hashes.SHA256()).hex()

    @property
    def not_after(self) -> datetime:
        return x509.load_pem_x509_certificate(self._texts[0].encode()).not_valid_after_utc

    def look(self) -> bool:
        return False

    async def issue(self, csr: str, cloudlet: str, vtep: str, lifetime: timedelta) -> Issued:
        names = f"URI:weft://cloudlet/{cloudlet}, DNS:{cloudlet}, IP:{vtep}"
        return await asyncio.to_thread(self._issue, csr, cloudlet, names, lifetime)

    async def issue_own(self, csr: str, lifetime: timedelta) -> Issued:
        return await asyncio.to_thread(self._issue, csr, CONTROLLER, f"DNS:{CONTROLLER}", lifetime)

    def _issue(self, csr: str, name: str, names: str, lifetime: timedelta) -> Issued:
        now = datetime.now(UTC)
        times = {"-startdate": now - timedelta(seconds=30), "-enddate": now + lifetime}
        words = [word for key, at in times.items() for word in (key, f"{at:%Y%m%d%H%M%SZ}")]
        words += ["-batch", "-notext", "-extensions", "leaf", "-subj", f"/CN={name}"]
        text = self._ca({"request.pem": csr, "index.txt": ""}, names, "-in", "{here}/request.pem", *words)
        made = x509.load_pem_x509_certificate(text.encode())
        times_ = made.not_valid_before_utc, made.not_valid_after_utc
        return Issued(f"{made.serial_number:040x}", *times_, made.fingerprint(hashes.SHA256()).hex(), text)

    async def crl(self, revoked: Iterable[Revoked]) -> str:
        lines = []
        for one in revoked:
            end, at = (f"{time:%y%m%d%H%M%SZ}" for time in (one.at + timedelta(days=1), one.at))
            lines.append(f"R\t{end}\t{at},{one.reason}\t{one.serial.upper()}\tunknown\t/CN=x\n")
        return await asyncio.to_thread(self._ca, {"index.txt": "".join(lines)}, "DNS:x", "-gencrl")

    def _ca(self, files: Mapping[str, str], names: str, *words: str) -> str:
        if (self._directory / "away").exists():
            raise AuthorityAway("The authority elsewhere does not answer.")
        with TemporaryDirectory() as here:
            conf = CONF.format(here=here, ca=self._directory, names=names)
            for name, text in ({"ca.conf": conf} | dict(files)).items():
                (Path(here) / name).write_text(text)
            return _openssl("ca", "-config", f"{here}/ca.conf", *(word.format(here=here) for word in words))
