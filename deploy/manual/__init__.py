"""The manual as a site: the pages of docs, built by Zensical, for reading without a network.

`index.py` reads the navigation from docs/README.md, `pages.py` and `links.py` prepare the pages, `site.py` has Zensical
build them, `finish.py` makes the result fit for a strict Content-Security-Policy, and `check.py` looks for what is
missing or would be loaded from elsewhere."""
