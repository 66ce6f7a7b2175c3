"""The house as its own imports draw it: which folder stands on which."""
