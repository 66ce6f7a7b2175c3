"""The alerting rules and dashboards of `deploy/monitoring`, compared with the metrics that the code exposes."""
