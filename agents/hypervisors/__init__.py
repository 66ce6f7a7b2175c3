"""Hypervisor drivers, which run and move VMs. `hypervisor` is their interface, `found` finds them."""
