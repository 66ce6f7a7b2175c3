"""`make bench-move`: one guest moved over WANs of several round trips and rates, by QEMU alone and by Weft, side by
side: Teka's tables 6 and 7 with real parts. `cases` has the cases, `plain` and `saga` are the ways to move, `trial`
measures one move, `figures` computes the figures of a move (pure), and `page` writes docs/reports/bench-move.md."""
