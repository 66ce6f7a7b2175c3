"""Middleware, from the outside in: metrics, request head, rate limit, body limits, idempotency key, audit log."""
