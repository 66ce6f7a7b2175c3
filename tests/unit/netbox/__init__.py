"""A NetBox as an inventory: the mapping, the translation, the reader with a fake NetBox, and an application."""
