"""The rules of `agents/hypervisors/hypervisor.py`, a test for each, for any hypervisor driver:

    python -m tests.conformance MODULE:NAME

runs them for the bench that MODULE has under NAME (`bench.py` says what that is), and `make conformance DRIVER=qemu`
for one of the repository's own. docs/contribute/drivers.md is the author's guide.
"""
