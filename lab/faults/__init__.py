"""`make faults`: a fault at every step of a move, with real parts: QEMU, agents, controller, route servers, the WAN.

`cases` says which there are and how each may end, `harm` does the harm and takes it back, `bed` is the region that they
share, `hold` keeps a move at a step that is over too soon, `census` looks at what is there afterwards, `trial` puts one
case through, and `page` writes it all down.
"""
