"""DHCPv4 (v4/), DHCPv6 (v6/) and router advertisements (ra/) for the hosts of a LAN.

`lease_source.py` is the interface to the address plan; `dual_stack.py` gives a machine one lease for both protocols."""
