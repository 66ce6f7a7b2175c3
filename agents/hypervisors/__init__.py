"""Hypervisor drivers: what really runs and moves a VM. `hypervisor` is the interface, `found` finds the drivers."""
