"""`make siege`: a region of good will is attacked by everybody at once, and nobody in it may notice.

`bed` is the region. `attack` starts an attacker in its namespace: `strangers` at the API, a hostile PE
(`routeserver/cmd/hostile-pe`), a hostile `agent` with good credentials, a hostile `device` on a LAN; `bodies`,
`reports` and `frames` are what they send. `life` is what people of good will do meanwhile, `callers` times their
requests, `gauges` reads memory and processor time. `phase` is the siege, or the time before it, `figures` what it has
measured; `verdict` says what of that may not be, and `page` writes it down.
"""
