"""Callers of the API: API tokens, users of an OpenID Connect issuer, and the audit entry for each of their actions."""
