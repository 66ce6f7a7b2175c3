"""Route servers: the client of their control API, and what keeps each in step with the rule set."""
