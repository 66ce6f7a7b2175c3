"""The cost of encryption: throughput compared with plain VXLAN, a full mesh, new keys, a dead peer.

`python -m tests.bench.tunnel` measures with real charons in namespaces of its own, and writes
docs/reports/bench-tunnel.md. Start with `link.py` (two sites with a WAN between them) and `mesh.py` (many sites on one
wire).
"""
