"""The committed description of the API (`docs/reference/openapi.json`), the check of a change of it for what breaks
clients, and the Python client that is generated from it."""
