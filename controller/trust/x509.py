"""Keys, requests, certificates and revocation lists (RFC 5280). Only this module of the controller and `sealing.py`
import `cryptography`. All keys are ECDSA on P-256, which every TLS and IKE implementation has."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from ipaddress import ip_address

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from controller.core.credential_proofs import Peer
from controller.trust.authority import Issued, Revoked
from controller.wire.certificates import CONTROLLER

Key = ec.EllipticCurvePrivateKey
Certificate = x509.Certificate

_MALFORMED = (ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion)
_ODD = (*_MALFORMED, x509.ExtensionNotFound, x509.DuplicateExtension, x509.UnsupportedGeneralNameType)

_END = "-----END CERTIFICATE-----\n"

URI = "weft://cloudlet/"
"""The prefix of a cloudlet's name in its certificate."""
_HASHES = (hashes.SHA256, hashes.SHA384, hashes.SHA512)


class Unreadable(Exception):  # noqa: N818 - it says what is
    """The data has not the expected form; the message says why."""


@dataclass(frozen=True)
class Signer:
    """An authority's certificate and its key."""

    key: Key = field(compare=False)
    certificate: Certificate


@dataclass(frozen=True)
class Request:
    """The parts of a certificate request that count: the name it asks for, and the key it was signed with."""

    name: str
    key: ec.EllipticCurvePublicKey


def peer(der: bytes) -> Peer:
    """Return the owner of a certificate that was verified. Raises Unreadable if it is not a cloudlet's."""
    try:
        certificate = x509.load_der_x509_certificate(der)
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        uris = names.get_values_for_type(x509.UniformResourceIdentifier)
        key = _fingerprint(certificate.public_key())
    except _ODD:
        raise Unreadable("the certificate is not a cloudlet's") from None
    if len(uris) != 1 or not uris[0].startswith(URI):
        raise Unreadable("the certificate is not a cloudlet's")
    end = certificate.not_valid_after_utc
    return Peer(uris[0].removeprefix(URI), f"{certificate.serial_number:040x}", key, end)


def fingerprint_of(csr: str) -> str:
    """Return the SHA-256 of the key of a request (its SubjectPublicKeyInfo), in hexadecimal. Raises Unreadable."""
    return _fingerprint(read_request(csr).key)


def issuer_of(certificate: str, authorities: str) -> str | None:
    """Return the SHA-256 of the key that a certificate is signed with, in hexadecimal, if it is the key of one of the
    authorities, else None. All arguments are PEM."""
    try:
        signed = x509.load_pem_x509_certificate(certificate.encode())
        above = x509.load_pem_x509_certificates(authorities.encode())
    except _MALFORMED:
        return None
    return next((_fingerprint(each.public_key()) for each in above if issued_by(signed, each)), None)


def issuer_key(certificates: str) -> str:
    """Return the SHA-256 of the key of the first certificate, in hexadecimal. For an authority's chain this is the
    value that `issuer_of` returns for the certificates it issues. Raises Unreadable."""
    return _fingerprint(read_certificate(certificates).public_key())


def _fingerprint(key: CertificatePublicKeyTypes) -> str:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return sha256(key.public_bytes(serialization.Encoding.DER, form)).hexdigest()


def new_key() -> Key:
    """Return a new key."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: Key) -> str:
    """Return a key as PEM (PKCS #8, not encrypted)."""
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()


def pem(*certificates: Certificate) -> str:
    """Return certificates as PEM, one after the other."""
    return "".join(c.public_bytes(serialization.Encoding.PEM).decode() for c in certificates)


def blocks(certificates: str) -> list[str]:
    """Return the certificates of a PEM text, one by one."""
    return [f"{block}{_END}" for block in certificates.split(_END)[:-1]]


def read_key(text: str) -> Key:
    """Return the key in a PEM text. Raises Unreadable."""
    try:
        key = serialization.load_pem_private_key(text.encode(), None)
    except _MALFORMED:
        raise Unreadable("no private key in PEM without a passphrase") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise Unreadable("not an ECDSA key on P-256")
    return key


def read_certificate(text: str) -> Certificate:
    """Return the first certificate in a PEM text. Raises Unreadable."""
    try:
        return x509.load_pem_x509_certificate(text.encode())
    except _MALFORMED:
        raise Unreadable("no certificate in PEM") from None


def read_signer(key: str, certificate: str) -> Signer:
    """Return the authority in two PEM texts. Raises Unreadable if the two do not belong together."""
    signer = Signer(read_key(key), read_certificate(certificate))
    if signer.key.public_key() != signer.certificate.public_key():
        raise Unreadable("the key is not that of the certificate")
    return signer


def common_name(certificate: Certificate) -> str:
    """Return the common name of the subject."""
    return str(certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)


def digest(certificate: Certificate) -> str:
    """Return the SHA-256 of a certificate's DER form, in hexadecimal."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def issued_by(certificate: Certificate, issuer: Certificate) -> bool:
    """Return whether `certificate` is signed with the key of `issuer`."""
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def read_request(text: str) -> Request:
    """Return the certificate request (PKCS #10, RFC 2986) in a PEM text, if it is signed with its own key. Raises
    Unreadable."""
    try:
        request = x509.load_pem_x509_csr(text.encode())
        key, signed = request.public_key(), request.is_signature_valid
        names = [attribute.value for attribute in request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
        digest = request.signature_hash_algorithm
    except _MALFORMED:
        raise Unreadable("not a certificate request (PKCS #10) in PEM") from None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise Unreadable("its key is not an ECDSA key on P-256")
    if not isinstance(digest, _HASHES):
        raise Unreadable("it is not signed with SHA-256 or a longer hash")
    if not signed:
        raise Unreadable("it is not signed with the key it is for")
    if len(names) != 1 or not isinstance(names[0], str):
        raise Unreadable("its subject has not one common name")
    return Request(names[0], key)


def request(key: Key, name: str) -> str:
    """Return a certificate request for that name, PEM."""
    made = x509.CertificateSigningRequestBuilder().subject_name(_name(name)).sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM).decode()


def root(key: Key, name: str, at: datetime, lifetime: timedelta) -> Certificate:
    """Return a root, which signs authorities that sign no others."""
    builder = _authority(f"{name} root", key.public_key(), at, lifetime, depth=1)
    builder = builder.issuer_name(_name(f"{name} root"))
    return _signed(builder, key, key.public_key())


def intermediate(signer: Signer, key: Key, name: str, at: datetime, lifetime: timedelta) -> Certificate:
    """Return an authority below the root, which signs cloudlets' certificates and no authorities."""
    lifetime = min(lifetime, signer.certificate.not_valid_after_utc - at)
    builder = _authority(f"{name} intermediate", key.public_key(), at, lifetime, depth=0)
    return _signed(builder.issuer_name(signer.certificate.subject), signer.key, signer.key.public_key())


def leaf(signer: Signer, request: Request, cloudlet: str, vtep: str, begin: datetime, end: datetime) -> Issued:
    """Issue a cloudlet's certificate: the name as URI and as DNS name, and the address of its tunnels. It is for TLS,
    as client and as server, and for IKE (RFC 4945)."""
    names = [x509.UniformResourceIdentifier(URI + cloudlet), x509.DNSName(cloudlet), x509.IPAddress(ip_address(vtep))]
    uses = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.IPSEC_IKE]
    return _leaf(signer, request, names, uses, begin, end)


def own(signer: Signer, request: Request, begin: datetime, end: datetime) -> Issued:
    """Issue the controller's certificate, for TLS as server alone. Its name has dots, and cloudlets' names have none,
    so no cloudlet can get the same name."""
    return _leaf(signer, request, [x509.DNSName(CONTROLLER)], [ExtendedKeyUsageOID.SERVER_AUTH], begin, end)


def _leaf(
    signer: Signer,
    request: Request,
    names: list[x509.GeneralName],
    uses: list[x509.ObjectIdentifier],
    begin: datetime,
    end: datetime,
) -> Issued:
    builder = (
        _builder(request.name, request.key, begin, end)
        .issuer_name(signer.certificate.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
    )
    made = _signed(builder, signer.key, signer.key.public_key())
    return Issued(
        serial=f"{made.serial_number:040x}",
        not_before=made.not_valid_before_utc,
        not_after=made.not_valid_after_utc,
        fingerprint=made.fingerprint(hashes.SHA256()).hex(),
        certificate=pem(made),
    )


def crl(signer: Signer, revoked: Iterable[Revoked], at: datetime, lifetime: timedelta) -> str:
    """Return a revocation list. Its number is its time in milliseconds, so it grows whichever replica makes it."""
    builder = x509.CertificateRevocationListBuilder().issuer_name(signer.certificate.subject)
    builder = builder.last_update(at).next_update(at + lifetime)
    for entry in revoked:
        one = x509.RevokedCertificateBuilder().serial_number(int(entry.serial, 16)).revocation_date(entry.at)
        reason = x509.CRLReason(x509.ReasonFlags(entry.reason))
        builder = builder.add_revoked_certificate(one.add_extension(reason, critical=False).build())
    number = x509.CRLNumber(int(at.timestamp() * 1000))
    by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key())
    builder = builder.add_extension(number, critical=False).add_extension(by, critical=False)
    return builder.sign(signer.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(name: str, key: ec.EllipticCurvePublicKey, begin: datetime, end: datetime) -> x509.CertificateBuilder:
    identifier = x509.SubjectKeyIdentifier.from_public_key(key)
    builder = x509.CertificateBuilder().subject_name(_name(name)).public_key(key)
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(begin).not_valid_after(end)
    return builder.add_extension(identifier, critical=False)


def _authority(
    name: str, key: ec.EllipticCurvePublicKey, at: datetime, lifetime: timedelta, depth: int
) -> x509.CertificateBuilder:
    builder = _builder(name, key, at, at + lifetime)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=depth), critical=True)
    return builder.add_extension(key_usage(signs=True), critical=True)


def key_usage(*, signs: bool) -> x509.KeyUsage:
    """Return the use of an authority's key, which `signs` certificates, or of a leaf's (RFC 5280, section 4.2.1.3)."""
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _signed(builder: x509.CertificateBuilder, key: Key, issuer: ec.EllipticCurvePublicKey) -> Certificate:
    by = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer)
    return builder.add_extension(by, critical=False).sign(key, hashes.SHA256())
