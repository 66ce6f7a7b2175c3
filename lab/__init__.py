"""A whole region on one machine. Every cloudlet, route server, device and VM is a network namespace, the WAN between
them has delay, jitter, loss and a rate, and all daemons are the real ones.

Start with `region.Region` (up, its phases, down) and `topology` (the YAML). `plan` is the underlay's pure arithmetic;
`netns` calls iproute2, `wan` chooses between netem and the relay, `daemons` has the command lines, `process` and
`state` record what runs, and `cleanup` removes it all from any state.
"""
