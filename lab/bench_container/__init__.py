"""Containers over thin lines, by Weft, by podman, and with their whole file system, side by side
(docs/reports/bench-container.md)."""
