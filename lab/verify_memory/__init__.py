"""`make verify-memory`: moves by each way that the drivers offer. All memory is compared page by page before it is
used.

`ways` lists the ways, `blocks` reads and compares the memory of two QEMUs, `guest` is the load, `trial` makes moves by
one way, and `page` writes the results.
"""
