"""Who is who: the certificates of cloudlets, and the authority that issues them (docs/operate/identity.md).

`authority.py` is the interface, `builtin.py` the authority that a controller is by itself, `ceremony.py` how that one's
keys are made, `x509.py` the door to the library.
"""
