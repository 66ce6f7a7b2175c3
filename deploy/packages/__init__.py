"""Weft's Debian packages, a repository of them for apt, and their bills of materials; `make packages` runs it.

A package is built for a target: a release of Debian and an architecture. Nothing of the building machine goes into it,
so one machine builds for all targets: wheels come from the package index, and Go compiles for any architecture.

`package.py` lists the packages; start there. `root.py` puts together what a package installs; `deb.py` packs it.
"""
