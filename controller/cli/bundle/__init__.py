"""The bundle of `weft gather` for bug reports.

`parts.py` lists what is asked of the controller, and the fields of the answers that a bundle may have. `redaction.py`
keeps these fields, and of their texts only words that are known to be no secrets: `words.py` judges them, by the
project's own vocabulary and by what the region's names and addresses are. `pseudonyms.py` replaces names and addresses.
`archive.py` writes the file."""
