"""Middleware, from the outside in: a request's head, its rate, its body, its key, the audit log."""
