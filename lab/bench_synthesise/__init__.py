"""A container that follows its device, beside the same container started anew (Teka, section V): the time until each of
them serves, and what the controller would have decided."""
