"""Authorities by their entry points, and a controller whose certificates another authority issues."""

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from controller.settings import BadSettings, Settings
from controller.trust import ceremony, found
from controller.trust.authority import Authority
from controller.trust.builtin import BuiltIn
from lab.patience import eventually
from tests.unit.controller.conftest import Start, problem
from tests.unit.trust import openssl_authority
from tests.unit.trust.requests import csr
from tests.unit.trust.test_builtin import NOW

HERE = "tests.unit.controller.test_authorities"
POINTS = [
    EntryPoint("openssl", "tests.unit.trust.openssl_authority:OpenSSL", found.GROUP),
    EntryPoint("missing", "tests.unit.trust.there_is_none:Authority", found.GROUP),
    EntryPoint("breaks", f"{HERE}:breaks", found.GROUP),
]


def breaks(directory: Path) -> Authority:
    raise ZeroDivisionError("by zero")


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of an installed authority that is not the controller's own."""
    monkeypatch.setattr(found, "entry_points", lambda group: POINTS)
    openssl_authority.make(tmp_path / "elsewhere")
    return tmp_path / "elsewhere"


def test_a_controller_is_its_own_authority(tmp_path: Path) -> None:
    ceremony.init(tmp_path / "authority", "test", NOW)
    assert isinstance(found.read(Settings().authority_kind, tmp_path / "authority"), BuiltIn)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("missing", "the authority 'missing' cannot be loaded: ModuleNotFoundError"),
        ("breaks", "the authority 'breaks' cannot be loaded: ZeroDivisionError: by zero"),
        ("nobody", "there is no kind of authority 'nobody'; there is breaks, built-in, missing, openssl"),
        ("openssl", "WEFT_AUTHORITY: .*intermediate.pem: No such file or directory"),
    ],
)
def test_one_that_does_not_work_says_why(tmp_path: Path, kind: str, said: str) -> None:
    with pytest.raises(BadSettings, match=said):
        found.read(kind, tmp_path, POINTS)


async def test_cloudlets_are_certified_elsewhere(start: Start, elsewhere: Path) -> None:
    async with start(authority=elsewhere, authority_kind="openssl") as controller:
        first, second = [await enrolled(controller, name, number) for number, name in ((1, "c1"), (2, "c2"))]
        chain = (await controller.get("/authority"))["chain"]
        assert chain == "".join((elsewhere / f"{name}.pem").read_text() for name in ("intermediate", "root"))
        leaf = x509.load_pem_x509_certificate(first["certified"]["certificate"].encode())
        assert "somebody's intermediate" in leaf.issuer.rfc4514_string()
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.UniformResourceIdentifier) == ["weft://cloudlet/c1"]

        (elsewhere / "away").touch()
        body = {"csr": csr("c2")}
        headers = {"Authorization": f"Bearer {second['credential']}"}
        away = await controller.http.post("/api/v1/agent/certificate", json=body, headers=headers)
        problem(away, 503)
        assert "The authority elsewhere does not answer" in away.text
        serial = f"{leaf.serial_number:040x}"
        await controller.post(f"/certificates/{serial}/revoke", {}, 200)
        (elsewhere / "away").unlink()
        again = await controller.http.post("/api/v1/agent/certificate", json=body, headers=headers)
        assert again.is_success

        async def listed() -> bool:
            text = (await controller.get("/authority"))["crl"]
            return bool(text) and serial in {f"{e.serial_number:040x}" for e in x509.load_pem_x509_crl(text.encode())}

        await eventually(listed, "what was revoked while the authority was away is on its list")


async def enrolled(controller: Any, name: str, number: int) -> Any:
    made = await controller.post("/cloudlets", {"name": name, "pe": "vpls", "vtep": f"192.0.2.{number}"})
    body = {"token": made["token"], "cloudlet": name, "agent_version": "1", "csr": csr(name)}
    return await controller.post("/enrolments", body)
