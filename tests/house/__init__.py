"""The architecture as the imports show it: the dependencies between folders."""
