"""The controller: pure decisions, the database, and the API through real HTTP."""
