"""The change flow: one transaction, then all route servers and agents at once, then the measured answer."""
