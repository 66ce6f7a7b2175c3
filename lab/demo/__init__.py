"""The main job, shown: `make demo`. One scene per file; each adds its checks to the verdict.

Scenes run in order on one stage: the region, the operator's REST client, and the verdict.
"""
