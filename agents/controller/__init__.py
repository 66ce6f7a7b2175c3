"""The controller as an agent uses it: the client of its API, and the report."""
