"""Certificates of cloudlets: issued, revoked, and asked for on each connection (docs/identity.md)."""
