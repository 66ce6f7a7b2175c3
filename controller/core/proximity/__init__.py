"""Automatic membership (Teka, "Adding a cloudlet to a VPN"): the cloudlets that are near each other, the pools that
follow, and the parts of a pool after a member leaves. Pure.

`geodesic` measures, `reach` defines how far is near, `grid` finds close cloudlets among very many, `nearness` combines
them by the rule of a family of pools, `placing` adds an endpoint, `splitting` takes one away."""
