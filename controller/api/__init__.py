"""The REST API: one file per noun, and the parts that all of them share (access, errors, pages, streams)."""
