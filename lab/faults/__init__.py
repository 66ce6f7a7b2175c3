"""`make faults`: a fault at every step of a move, with real parts: QEMU, agents, controller, route servers, the WAN.

`cases` lists the faults and how each may end, `harm` causes a fault and ends it, `bed` is the region that all cases
share, `hold` keeps a move at a step that is over too soon, `census` checks the state afterwards, `trial` runs one case,
and `page` writes the results.
"""
