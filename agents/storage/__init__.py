"""The agent's files: its state, written so that a crash loses nothing."""
