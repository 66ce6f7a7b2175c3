"""The requests that are signed, and the parts of them that count."""

import base64
import contextlib
import re

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from controller.core.refusals import Refused
from controller.trust.requests import check
from controller.trust.x509 import Unreadable, read_request
from tests.unit.trust.requests import WEAK, csr, forged

GOOD = csr("c1")
DER = x509.load_pem_x509_csr(GOOD.encode()).public_bytes(serialization.Encoding.DER)


def armoured(raw: bytes) -> str:
    text = base64.encodebytes(raw).decode()
    return f"-----BEGIN CERTIFICATE REQUEST-----\n{text}-----END CERTIFICATE REQUEST-----\n"


def refused(text: str, reason: str) -> None:
    with pytest.raises(Refused, match=re.escape(reason)) as caught:
        check(text, "c1")
    assert (caught.value.kind, caught.value.field) == ("invalid", "csr")


def test_a_good_one() -> None:
    check(GOOD, "c1")


@pytest.mark.parametrize("kind", WEAK)
def test_weak_and_foreign_keys(kind: str) -> None:
    refused(WEAK[kind](), "not an ECDSA key on P-256")


@pytest.mark.parametrize("names", [("c2",), ("C1",), ("c1 ",), ("c1.example",)])
def test_the_name_is_the_cloudlets(names: tuple[str, ...]) -> None:
    refused(csr(*names), "it is not for c1")


@pytest.mark.parametrize("names", [(), ("c1", "c2"), ("c2", "c1")])
def test_one_name(names: tuple[str, ...]) -> None:
    refused(csr(*names), "not one common name")


def test_who_sends_it_has_the_key() -> None:
    refused(forged("c1"), "not signed with the key it is for")


def test_a_broken_hash() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    refused(csr("c1", key=key, digest=hashes.SHA224()), "SHA-256 or a longer hash")


@pytest.mark.parametrize("text", ["", "x", GOOD.replace("REQUEST", "THING"), GOOD[: len(GOOD) // 2], "ä" + GOOD[30:]])
def test_something_else(text: str) -> None:
    refused(text, "not a certificate request")


def test_one_bit_of_difference_is_refused_or_changes_nothing() -> None:
    for bit in range(len(DER) * 8):
        changed = bytearray(DER)
        changed[bit // 8] ^= 1 << bit % 8
        with contextlib.suppress(Unreadable):
            assert read_request(armoured(bytes(changed))) == read_request(GOOD)


@given(st.text(max_size=300) | st.binary(max_size=300).map(lambda raw: armoured(raw)))
def test_anything_is_refused_without_a_surprise(text: str) -> None:
    refused(text, "the certificate request is refused")


def test_what_it_asks_for_beside_its_name_is_not_looked_at() -> None:
    """The request is not refused either: see test_builtin.py for the issued certificate."""
    check(csr("c1", uri="weft://cloudlet/c2"), "c1")
