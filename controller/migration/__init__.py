"""VMs and their moves: sightings of devices, decisions to follow them, and the steps of each move."""
