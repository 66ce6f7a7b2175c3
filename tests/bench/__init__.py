"""Measurements of one part each, over real HTTP and real databases. `make bench-…` runs them."""
