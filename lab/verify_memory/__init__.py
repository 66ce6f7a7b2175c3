"""`make verify-memory`: moves by each way that the drivers offer, all memory compared page by page before it is used.

`ways` says which ways there are, `blocks` reads and compares the memory of two QEMUs, `guest` is the load, `trial`
makes moves by one way, and `page` writes it all down.
"""
