"""The rules of `agents/hypervisors/hypervisor.py`, a test for each, for any hypervisor driver:

    python -m tests.conformance MODULE:NAME

runs them for the bench NAME of MODULE (`bench.py` describes a bench), and `make conformance DRIVER=qemu` runs them for
one of the repository's own drivers. docs/contribute/drivers.md is the author's guide.
"""
