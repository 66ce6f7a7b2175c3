"""The base of every other package: wake-ups, task groups, the event log, metrics, problems, maintenance."""
