"""Access rules in the kernel."""
