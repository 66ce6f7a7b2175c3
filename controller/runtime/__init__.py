"""What every other package stands on: wake-ups, task groups, the event log, metrics, problems, maintenance."""
