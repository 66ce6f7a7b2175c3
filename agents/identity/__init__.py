"""The cloudlet's identity: a key, which never leaves the machine, and a certificate (docs/operate/identity.md).

In the state directory, each file replaced as a whole and for root only:

    identity/key.pem          the key, ECDSA on P-256 (PKCS #8)
    identity/certificate.pem  the cloudlet's certificate
    identity/chain.pem        the intermediate and the root above it
    identity/crl.pem          the intermediate's revocation list
    identity/authorities.pem  the authorities that the controller's certificate has to come from, over TLS
"""

from agents.identity.identity import Identity

__all__ = ["Identity"]
