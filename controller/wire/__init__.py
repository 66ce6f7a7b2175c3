"""Messages that cross process boundaries: controller <-> agent (desired, reports, leases) and controller <-> route
server (rulesets). Pydantic models only: no I/O, no decisions."""
