"""Replicas on one PostgreSQL: which one leads, and which one each agent is connected to (docs/operate/replicas.md)."""
