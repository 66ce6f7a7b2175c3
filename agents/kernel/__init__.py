"""The kernel and its desired state: plan.py computes the operations, operations.py defines them, netlink.py applies
them."""
