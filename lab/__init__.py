"""A whole region on one machine: every cloudlet, route server, device and VM is a network namespace, the WAN between
them has delay, jitter, loss and rate, and all daemons are the real ones.

Start with `region.Region` (up, its phases, down) and `topology` (the YAML). `plan` is the underlay's pure arithmetic;
`netns` is the door to iproute2, `wan` chooses between netem and the relay, `daemons` knows the command lines,
`process` and `state` keep account of what runs, `cleanup` removes it all from any state.
"""
