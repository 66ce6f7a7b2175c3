"""The controller, seen from an agent: the client of its API, enrolment, and the report."""
