"""DHCPv4 (v4/), DHCPv6 (v6/) and router advertisements (ra/) for the hosts of a LAN.

`lease_source.py` is the seam to the address plan, and `dual_stack.py` ties the two leases of a machine together."""
