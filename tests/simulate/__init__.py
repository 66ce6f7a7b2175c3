"""`make simulate`: a controller with very many cloudlets and devices. The decisions, the change flow, the API and the
databases are the real ones; cloudlets, agents and devices are simulated, and there is no route server."""
