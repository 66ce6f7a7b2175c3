"""The messages between processes, as golden documents that both sides read."""
