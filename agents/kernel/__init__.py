"""The kernel and what it is to have: plan.py decides, operations.py is what is to be done, netlink.py the door."""
