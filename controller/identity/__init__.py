"""Certificates of cloudlets: issued, revoked, and checked on each connection (docs/operate/identity.md)."""
