"""Route servers: the client of their control API, and the code that keeps each in step with the rule set."""
