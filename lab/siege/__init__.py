"""`make siege`: everybody attacks a region at once, and no legitimate user or device in it may notice.

`bed` is the region. `attack` starts an attacker in its namespace: `strangers` at the API, a hostile PE
(`routeserver/cmd/hostile-pe`), a hostile `agent` with valid credentials, a hostile `device` on a LAN; `bodies`,
`reports` and `frames` have their messages. `life` does what legitimate users and devices do meanwhile, `callers` times
their requests, and `gauges` reads memory and processor time. `phase` runs the siege, or the time before it, and
`figures` has its measurements; `verdict` says what of them is wrong, and `page` writes them to a page.
"""
