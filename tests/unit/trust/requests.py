"""Certificate requests as agents make them, and invalid ones."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID


def name(*common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text) for text in common])


def csr(*common: str, key: Any = None, digest: Any = None, uri: str | None = None) -> str:
    builder = x509.CertificateSigningRequestBuilder().subject_name(name(*common))
    if uri is not None:
        names = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(uri), x509.DNSName("other")])
        builder = builder.add_extension(names, critical=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    key = key or ec.generate_private_key(ec.SECP256R1())
    digest = None if isinstance(key, ed25519.Ed25519PrivateKey) else digest or hashes.SHA256()
    return pem(builder.sign(key, digest))


def pem(request: x509.CertificateSigningRequest) -> str:
    return request.public_bytes(serialization.Encoding.PEM).decode()


def forged(common: str) -> str:
    """Return a request with the key of one and the signature of another: its sender does not have the key."""
    theirs, mine = csr(common), csr(common)
    der = [x509.load_pem_x509_csr(text.encode()).public_bytes(serialization.Encoding.DER) for text in (theirs, mine)]
    spki = [
        x509.load_pem_x509_csr(text.encode())
        .public_key()
        .public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        for text in (theirs, mine)
    ]
    return pem(x509.load_der_x509_csr(der[1].replace(spki[1], spki[0])))


def self_signed(certificate: Path, key: Path, common: str = "localhost") -> None:
    """Write a certificate for this machine and its key, as an operator has them."""
    mine, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName(common), x509.IPAddress(ip_address("127.0.0.1"))])
    builder = x509.CertificateBuilder().subject_name(name(common)).issuer_name(name(common))
    builder = builder.public_key(mine.public_key()).serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    signed = builder.add_extension(names, critical=False).sign(mine, hashes.SHA256())
    form = serialization.PrivateFormat.PKCS8
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    key.write_bytes(mine.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))


WEAK = {
    "RSA of 1024 bits": lambda: csr("c1", key=rsa.generate_private_key(65537, 1024)),
    "RSA of 2048 bits": lambda: csr("c1", key=rsa.generate_private_key(65537, 2048)),
    "P-192": lambda: csr("c1", key=ec.generate_private_key(ec.SECP192R1())),
    "Ed25519": lambda: csr("c1", key=ed25519.Ed25519PrivateKey.generate()),
}
