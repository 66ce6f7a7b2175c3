"""The agent's key, its requests and its certificates, by `cryptography`. No other module of the agent imports that."""

import hmac
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Key = ec.EllipticCurvePrivateKey

_MALFORMED = (
    *(ValueError, TypeError, UnsupportedAlgorithm),
    *(x509.InvalidVersion, x509.ExtensionNotFound, x509.DuplicateExtension, x509.UnsupportedGeneralNameType),
)


_END = "-----END X509 CRL-----"


class Unfit(Exception):  # noqa: N818 - it says what is
    """A certificate, or a key, that cannot be used here; the message says why."""


class Foreign(Unfit):
    """Certificates that lead to a root which is not trusted here."""


@dataclass(frozen=True)
class Validity:
    """The time from which and until which a certificate is valid."""

    begin: datetime
    end: datetime


def new_key() -> str:
    """Return a new key on P-256: PKCS #8, PEM."""
    form = serialization.PrivateFormat.PKCS8
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


def request(key: str, cloudlet: str) -> str:
    """Return a certificate request (PKCS #10, RFC 2986) for a cloudlet, PEM. Raises Unfit."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, cloudlet)])
    made = x509.CertificateSigningRequestBuilder().subject_name(name).sign(_key(key), hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM).decode()


def check(key: str, certificate: str, chain: str, cloudlet: str) -> Validity:
    """Return the validity of a certificate that is this cloudlet's, for this key, and whose chain leads to a root.
    Raises Unfit if it is not so."""
    try:
        leaf = x509.load_pem_x509_certificate(certificate.encode())
        above = x509.load_pem_x509_certificates(chain.encode())
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        uris = names.get_values_for_type(x509.UniformResourceIdentifier)
        own = leaf.public_key() == _key(key).public_key()
    except _MALFORMED as error:
        raise Unfit(f"not certificates as they should be: {error}") from None
    if uris != [f"weft://cloudlet/{cloudlet}"]:
        raise Unfit("the certificate is another's")
    if not own:
        raise Unfit("the certificate is for another key")
    for lower, upper in zip([leaf, *above], [*above, above[-1]], strict=True):
        if not _leads(lower, upper):
            raise Unfit("the chain does not lead from the certificate to a root")
    return Validity(leaf.not_valid_before_utc, leaf.not_valid_after_utc)


def pinned(authorities: str, fingerprint: str) -> str:
    """Return the root whose SHA-256 (of its DER form, in hexadecimal) is `fingerprint`, and the certificates that it
    has issued, PEM. Raises Unfit if that root is not among them."""
    try:
        found = x509.load_pem_x509_certificates(authorities.encode())
        (root,) = (each for each in found if hmac.compare_digest(digest(each), fingerprint.lower()))
    except _MALFORMED:
        raise Unfit("the root that the token names is not among the controller's") from None
    return "".join(_pem(each) for each in found if each == root or _leads(each, root))


def roots(authorities: str) -> frozenset[str]:
    """Return the SHA-256 of each self-signed certificate. Raises Unfit."""
    try:
        found = x509.load_pem_x509_certificates(authorities.encode())
    except _MALFORMED:
        raise Unfit("no certificates in PEM") from None
    return frozenset(digest(each) for each in found if _leads(each, each))


def digest(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of the certificate's DER form, in hexadecimal."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def _leads(lower: x509.Certificate, upper: x509.Certificate) -> bool:
    try:
        lower.verify_directly_issued_by(upper)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def check_authorities(authorities: str) -> None:
    """Raise Unfit unless all of them lead to roots that are among them."""
    try:
        found = x509.load_pem_x509_certificates(authorities.encode())
    except _MALFORMED:
        raise Unfit("no certificates in PEM") from None
    tops = [each for each in found if _leads(each, each)]
    if not all(any(_leads(each, top) for top in tops) for each in found):
        raise Unfit("not all of them lead to a root that is among them")


def first(certificates: str) -> str:
    """Return the SHA-256 of the first certificate: in an authority's chain or list, the one that issues. Raises
    Unfit."""
    try:
        return digest(x509.load_pem_x509_certificate(certificates.encode()))
    except _MALFORMED:
        raise Unfit("no certificate in PEM") from None


def check_lists(crls: str, authorities: str) -> None:
    """Raise Unfit unless all are revocation lists of these authorities."""
    try:
        issuers = x509.load_pem_x509_certificates(authorities.encode())
    except _MALFORMED:
        raise Unfit("no certificates in PEM") from None
    for crl in _lists(crls):
        _check_list(crl, issuers)


def _check_list(crl: str, issuers: list[x509.Certificate]) -> None:
    try:
        found = x509.load_pem_x509_crl(crl.encode())
        keys = [issuer.public_key() for issuer in issuers if found.issuer == issuer.subject]
        ours = any(isinstance(key, ec.EllipticCurvePublicKey) and found.is_signature_valid(key) for key in keys)
    except _MALFORMED:
        raise Unfit("no revocation list in PEM") from None
    if not ours:
        raise Unfit("it is another authority's")


def revoked(crls: str) -> frozenset[int]:
    """Return the serial numbers on revocation lists. Raises Unfit."""
    try:
        lists = [x509.load_pem_x509_crl(crl.encode()) for crl in _lists(crls)]
        return frozenset(entry.serial_number for one in lists for entry in one)
    except _MALFORMED:
        raise Unfit("no revocation list in PEM") from None


def _lists(crls: str) -> list[str]:
    """Return the lists one by one. Raises Unfit if there is none."""
    *found, rest = crls.split(_END)
    if not found or rest.strip():
        raise Unfit("no revocation list in PEM")
    return [f"{one}{_END}" for one in found]


def _key(text: str) -> Key:
    try:
        key = serialization.load_pem_private_key(text.encode(), None)
    except _MALFORMED:
        raise Unfit("no private key in PEM") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise Unfit("not an ECDSA key on P-256")
    return key
