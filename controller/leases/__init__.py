"""Addresses of LANs: leases, ranges that agents give out by themselves, static hosts, reservations."""
