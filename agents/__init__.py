"""The agent of a cloudlet: it takes the desired state in, changes the kernel and the PE, and sends reports out.

Glossary of the data plane
--------------------------
PE            provider edge: the BGP speaker and the forwarding of one cloudlet (RFC 4026). Here gobgpd or FRR for
              the first, the Linux bridge and VXLAN devices for the second.
VTEP          the address that tunnels start and end at, and that BGP sessions come from (RFC 7348).
VE ID         the number of an endpoint within its VPLS (RFC 4761, section 3.2.2); the controller allots it.
label block   a run of labels that one announcement gives away: base, offset and size. The remote with VE ID v takes
              the label base + v - offset (RFC 4761, section 3.2.2).
rx, tx        the label a pseudowire receives on (ours), and the one it sends with (the remote's). Labels are VNIs.
pseudowire    a VXLAN device `pw{index}.{ve}` to one remote: id = rx, one all-zeros FDB entry with the remote's VTEP
              and tx. A bridge port with `isolated on`: frames never go from pseudowire to pseudowire (split horizon).
flood entry   an all-zeros FDB entry of a VXLAN device: where broadcast and unknown frames are sent.
LAN           bridge `lan{index}` with the gateway address, the access ports, and on-link routes to remotes' prefixes.
VXLAN device  `vx{index}`, an EVPN endpoint's; FRR fills its FDB.
snapshot      what the kernel has, read back; the plan is the difference between the desired state and a snapshot.
"""
