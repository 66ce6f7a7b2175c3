"""What every request passes, from the outside in: its head, its rate, its body, its key, the audit log."""
