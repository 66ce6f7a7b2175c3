"""Identities: the certificates of cloudlets, and the authority that issues them (docs/operate/identity.md).

`authority.py` is the interface, `builtin.py` the authority that is part of the controller, `ceremony.py` makes that
authority's keys, and `x509.py` has all of their cryptography. `sealing.py` encrypts secrets that the database keeps."""
