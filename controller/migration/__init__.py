"""VMs and their moves: sightings of devices, decisions to follow them, and moves from step to step."""
