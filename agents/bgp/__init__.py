"""The PE's BGP speakers: gobgpd for VPLS (gobgp/), FRR for EVPN (frr/), and the keys of their sessions."""
