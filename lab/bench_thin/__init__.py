"""`make bench-thin`: a guest moves over thin lines, by weft-transfer and by each way that QEMU has, side by side.

`cases` lists lines, states of the guest and ways; `trial` makes the moves of one cell; `page` writes the report.
"""
