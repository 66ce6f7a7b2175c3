"""The agent's part in sightings."""
