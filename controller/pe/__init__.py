"""Configurations of PEs that have no agent."""
