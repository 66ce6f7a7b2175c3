"""What encryption costs: throughput beside that of plain VXLAN, a full mesh, new keys, a dead peer.

`python -m tests.bench.tunnel` measures, and writes docs/reports/bench-tunnel.md; real charons, in namespaces of its
own. Start with `link.py`, two sites with a WAN between them, and `mesh.py`, many of them on one wire.
"""
