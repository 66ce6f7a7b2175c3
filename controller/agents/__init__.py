"""Agents of cloudlets: their streams and reports, their neighbours, tunnels, and impostors that they dropped."""
