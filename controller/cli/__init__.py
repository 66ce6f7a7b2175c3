"""The `weft` command: one file per noun, over the REST API alone."""
