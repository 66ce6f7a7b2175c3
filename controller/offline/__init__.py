"""Commands of `weft-controller` that work on a region's database and settings without serving it: backup, restoration,
downgrade and check."""
