"""Inventories that are applied: the work on cloudlets, endpoints, devices and VMs in one transaction."""
