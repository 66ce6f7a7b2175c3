"""Callers: API tokens, users of an OpenID Connect issuer, and the audit log's entry for what each does."""
