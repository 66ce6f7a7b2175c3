"""Certificates of cloudlets: issued, revoked, and asked for on each connection (docs/operate/identity.md)."""
