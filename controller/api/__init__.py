"""The REST API: one file per noun, and beside them what all of them share (access, errors, pages, streams)."""
