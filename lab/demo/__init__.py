"""The main features, shown by `make demo`. There is one scene per file; each adds its checks to the verdict.

Scenes run in order on one stage: the region, the operator's REST client, and the verdict.
"""
