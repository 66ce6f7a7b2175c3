"""Automatic membership (Teka, "Adding a cloudlet to a VPN"): who is near whom, which pools that makes, and what is left
of a pool when somebody goes. Pure.

`geodesic` measures, `reach` says how far is near, `grid` finds who is close among very many, `nearness` puts them
together by the rule of a family of pools, `placing` adds an endpoint, `splitting` takes one away.
"""
