"""Replicas on one PostgreSQL: who leads, and which replica each agent is connected to (docs/operate/replicas.md)."""
