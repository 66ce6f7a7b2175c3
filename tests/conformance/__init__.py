"""The rules of `agents/hypervisors/hypervisor.py`, a test for each, for any hypervisor driver:

    python -m tests.conformance MODULE:NAME

runs them for the bench that MODULE has under NAME (`bench.py` says what that is); in the suite they run for the
simulated driver. docs/drivers.md is the author's guide.
"""
