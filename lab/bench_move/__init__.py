"""`make bench-move`: one guest moved over WANs of several round trips and rates, by QEMU alone and by Weft, side by
side: Teka's tables 6 and 7 with real parts. `cases` says what is measured, `plain` and `saga` are the ways to move,
`trial` measures one move, `figures` makes figures of what was seen (pure), `page` is docs/reports/bench-move.md."""
